FROM node:26-bookworm-slim AS build
WORKDIR /app
COPY package.json package-lock.json ./
# Without install scripts: the ones there are fetch a second node and compile parts that only tests would use.
RUN npm ci --ignore-scripts --no-audit --no-fund
COPY tsconfig.json tsconfig.build.json ./
COPY src src
RUN npm run build && npm prune --omit=dev --ignore-scripts --no-audit --no-fund

FROM node:26-bookworm-slim
ARG VERSION=0.1.0
LABEL org.opencontainers.image.title="summary-cache" \
      org.opencontainers.image.description="A caching proxy whose instances share what they hold by publishing Bloom-filter digests to each other" \
      org.opencontainers.image.version="$VERSION" \
      org.opencontainers.image.licenses="MIT"
ENV NODE_ENV=production
# The state directory belongs to the user in the image, and so in every volume that is made for it.
RUN install -d -o node -g node /var/lib/summary-cache
WORKDIR /app
COPY --from=build /app/node_modules node_modules
COPY --from=build /app/dist dist
COPY package.json ./
COPY deploy/docker/config.yaml /etc/summary-cache/config.yaml
USER node
VOLUME /var/lib/summary-cache
EXPOSE 3128 8128
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=5s --timeout=3s --start-period=10s --retries=3 \
  CMD ["node", "-e", "fetch('http://127.0.0.1:8128/v1/health').then((answer) => process.exit(answer.ok ? 0 : 1), () => process.exit(1))"]
ENTRYPOINT ["node", "/app/dist/cli.js"]
CMD ["serve", "--config", "/etc/summary-cache/config.yaml"]
