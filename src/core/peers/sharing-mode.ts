export const SHARING_MODES = ['copy', 'single-copy'] as const
/**
 * What becomes of an object that a peer had. 'copy': it is kept here too. 'single-copy': not here, and the cluster holds
 * one copy of it, which lives as long as any of the proxies asks for it.
 */
export type SharingMode = (typeof SHARING_MODES)[number]
