/*
 * The same algorithm in C, to measure against: MurmurHash3 x86_128 and the probes of src/core/filter/probing.ts, all of
 * them, whatever the first ones met.
 *
 *   reference KEYS KEY_BYTES [WORDS BIT_COUNT PROBE_COUNT]
 *
 * KEYS is a file of keys of KEY_BYTES bytes each, WORDS one of the filter's 32-bit words. Answers each line
 *   hash FIRST COUNT TIMES     with the CPU nanoseconds a key took, and the sum of all h0 modulo 2^32
 *   lookup FIRST COUNT TIMES   with the CPU nanoseconds a lookup took, hashing included, and how many keys were claimed
 * and ends with its input.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static inline uint32_t rotate(uint32_t value, int by) { return (value << by) | (value >> (32 - by)); }

static inline uint32_t mix32(uint32_t h) {
  h = (h ^ (h >> 16)) * 0x85ebca6bu;
  h = (h ^ (h >> 13)) * 0xc2b2ae35u;
  return h ^ (h >> 16);
}

#define C1 0x239b961bu
#define C2 0xab0e9789u
#define C3 0x38b34ae5u
#define C4 0xa1e38b93u

static inline uint32_t word_at(const uint8_t *bytes) {
  uint32_t word;
  memcpy(&word, bytes, 4);
  return word;
}

static void murmur3(const uint8_t *key, size_t length, uint32_t out[4]) {
  uint32_t h1 = 0, h2 = 0, h3 = 0, h4 = 0;
  const uint8_t *end = key + (length & ~(size_t)15);
  for (; key != end; key += 16) {
    h1 ^= rotate(word_at(key) * C1, 15) * C2;
    h1 = (rotate(h1, 19) + h2) * 5 + 0x561ccd1bu;
    h2 ^= rotate(word_at(key + 4) * C2, 16) * C3;
    h2 = (rotate(h2, 17) + h3) * 5 + 0x0bcaa747u;
    h3 ^= rotate(word_at(key + 8) * C3, 17) * C4;
    h3 = (rotate(h3, 15) + h4) * 5 + 0x96cd1c35u;
    h4 ^= rotate(word_at(key + 12) * C4, 18) * C1;
    h4 = (rotate(h4, 13) + h1) * 5 + 0x32ac3b17u;
  }
  uint32_t tail[4] = {0, 0, 0, 0};
  memcpy(tail, key, length & 15);
  h1 ^= rotate(tail[0] * C1, 15) * C2;
  h2 ^= rotate(tail[1] * C2, 16) * C3;
  h3 ^= rotate(tail[2] * C3, 17) * C4;
  h4 ^= rotate(tail[3] * C4, 18) * C1;
  h1 ^= (uint32_t)length;
  h2 ^= (uint32_t)length;
  h3 ^= (uint32_t)length;
  h4 ^= (uint32_t)length;
  h1 += h2 + h3 + h4;
  h2 += h1;
  h3 += h1;
  h4 += h1;
  h1 = mix32(h1);
  h2 = mix32(h2);
  h3 = mix32(h3);
  h4 = mix32(h4);
  h1 += h2 + h3 + h4;
  out[0] = h1;
  out[1] = h2 + h1;
  out[2] = h3 + h1;
  out[3] = h4 + h1;
}

static inline uint32_t claims(const uint32_t *words, uint32_t mask, int probe_count, const uint32_t hash[4]) {
  uint32_t probe = hash[0], step = hash[1] | 1, all = 1;
  for (int i = 0; i < probe_count; i++) {
    uint32_t position = probe & mask;
    all &= words[position >> 5] >> (position & 31);
    probe += step;
    step += i + 1;
  }
  return all;
}

static double cpu_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return now.tv_sec * 1e9 + now.tv_nsec;
}

/* Into plain memory rather than mapped: pages of the same size as those of the filter that it is compared with. */
static void *content_of(const char *path, size_t *size) {
  FILE *file = fopen(path, "rb");
  if (file == NULL || fseek(file, 0, SEEK_END) != 0) return NULL;
  *size = (size_t)ftell(file);
  rewind(file);
  void *bytes = calloc(1, *size);
  if (bytes != NULL && fread(bytes, 1, *size, file) != *size) return NULL;
  fclose(file);
  return bytes;
}

int main(int argc, char **argv) {
  if (argc != 3 && argc != 6) return 2;
  size_t key_file_bytes = 0, word_file_bytes = 0;
  const uint8_t *keys = content_of(argv[1], &key_file_bytes);
  size_t key_bytes = strtoul(argv[2], NULL, 10);
  const uint32_t *words = argc == 6 ? content_of(argv[3], &word_file_bytes) : NULL;
  if (keys == NULL || key_bytes == 0 || (argc == 6 && words == NULL)) {
    perror("reference");
    return 1;
  }
  uint32_t mask = argc == 6 ? (uint32_t)(strtoul(argv[4], NULL, 10) - 1) : 0;
  int probe_count = argc == 6 ? atoi(argv[5]) : 0;
  if (words != NULL && word_file_bytes * 8 != (size_t)mask + 1) return 2;

  char verb[8];
  unsigned long first, count, times;
  while (scanf("%7s %lu %lu %lu", verb, &first, &count, &times) == 4) {
    if ((first + count) * key_bytes > key_file_bytes) return 2;
    const uint8_t *start = keys + first * key_bytes;
    const uint8_t *end = start + count * key_bytes;
    uint32_t result = 0, hash[4];
    double before = cpu_ns();
    if (strcmp(verb, "hash") == 0) {
      for (unsigned long pass = 0; pass < times; pass++) {
        for (const uint8_t *key = start; key != end; key += key_bytes) {
          murmur3(key, key_bytes, hash);
          result += hash[0];
        }
      }
    } else {
      if (words == NULL) return 2;
      for (unsigned long pass = 0; pass < times; pass++) {
        for (const uint8_t *key = start; key != end; key += key_bytes) {
          murmur3(key, key_bytes, hash);
          result += claims(words, mask, probe_count, hash);
        }
      }
    }
    printf("%.3f %u\n", (cpu_ns() - before) / ((double)count * times), result);
    fflush(stdout);
  }
  return 0;
}
