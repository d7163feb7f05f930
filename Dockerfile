# The image of gateway, operator, ledger, simulator and dashboard: one for all, the command says which. tools/pack/contents.ts is the table of what it
# holds; a test compares. Runs as a user that owns nothing, on a root file system that cannot be written.
#
#   docker build -t penstock .
#   docker build -t penstock --build-arg BASE=node:26.10.0-slim@sha256:… .     pinned, as a release should
#   npm run build && docker build -t penstock --build-arg BUNDLES=prebuilt .    with the bundles that are in dist/
#
# Needs BuildKit, which every Docker since 23 uses by itself. BASE is any image with Node 24 or newer on its PATH, or where
# distroless images have it; nothing else of it is used, no shell either.
ARG BASE=node:26.10.0-slim
ARG BUILDER=node:26.10.0-slim
ARG BUNDLES=build

FROM ${BUILDER} AS build
WORKDIR /app
COPY package.json package-lock.json ./
RUN npm ci --no-audit --no-fund
COPY . .
RUN npm run build

FROM scratch AS prebuilt
COPY dist /app/dist

FROM ${BUNDLES} AS bundles

# What V8 compiles at a start, compiled here, by the Node that will read it. With package.json beside it, so that Node takes the
# same way as in the packer and leaves the same bytes.
FROM ${BASE} AS compiled
ENV PATH=/usr/local/bin:/nodejs/bin:/usr/bin:/bin
COPY package.json tools/pack/contents.ts tools/pack/compile-cache.ts tools/pack/warm-start.ts /images/
COPY --from=bundles /app/dist /app/dist
USER 0:0
RUN ["node", "/images/compile-cache.ts", "/app/dist", "/app/compile-cache"]

FROM ${BASE}
WORKDIR /app
COPY --from=bundles \
  /app/dist/gateway.js \
  /app/dist/operator.js \
  /app/dist/ledger.js \
  /app/dist/simulator.js \
  /app/dist/dashboard.js \
  /app/dist/sqlite-worker.js \
  /app/dist/token-thread.js \
  /app/dist/gateway-telemetry.js \
  /app/dist/metrics-telemetry.js \
  /app/dist/apply-objects.js \
  /app/dist/helm-test.js \
  /app/dist/package.json \
  /app/dist/LICENSE \
  /app/dist/THIRD-PARTY-NOTICES \
  /app/dist/sbom.cdx.json \
  /app/dist/
COPY --from=bundles /app/dist/dashboard /app/dist/dashboard
COPY --from=compiled /app/compile-cache /app/compile-cache
ENV PATH=/usr/local/bin:/nodejs/bin:/usr/bin:/bin \
  NODE_COMPILE_CACHE=/app/compile-cache \
  NODE_OPTIONS="--disable-proto=delete --disable-sigusr1" \
  UV_THREADPOOL_SIZE=128
LABEL org.opencontainers.image.title="penstock" \
  org.opencontainers.image.description="The Kubernetes-native gateway between programs and AI models" \
  org.opencontainers.image.licenses="Apache-2.0" \
  org.opencontainers.image.version="0.1.0"
USER 65532:65532
ENTRYPOINT ["node"]
CMD ["dist/gateway.js"]
