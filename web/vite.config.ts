import { readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';
import { defineConfig, type Plugin } from 'vite';

const dist = fileURLToPath(new URL('dist', import.meta.url));

function filesBelow(folder: string): string[] {
  return readdirSync(folder).flatMap((name) => {
    const path = join(folder, name);
    return statSync(path).isDirectory() ? filesBelow(path) : [path];
  });
}

/** Removes the earlier build but keeps the folder, and adds a compressed copy of each text file. */
function compressedCopies(): Plugin {
  return {
    name: 'compressed-copies',
    apply: 'build',
    buildStart() {
      for (const path of filesBelow(dist)) if (!path.endsWith('.gitkeep')) rmSync(path);
    },
    closeBundle() {
      for (const path of filesBelow(dist)) {
        if (!/\.(js|css|html|svg|json)$/.test(path)) continue;
        const content = readFileSync(path);
        const compressed = gzipSync(content, { level: 9 });
        if (compressed.length < content.length) writeFileSync(`${path}.gz`, compressed);
      }
    },
  };
}

const server = process.env.CARREL_ADDRESS ?? 'http://127.0.0.1:9130';
// During development everything but the desk comes from a server that runs already.
const proxy = { '^/(?!desk)': { target: server, changeOrigin: false } };

export default defineConfig({
  base: '/desk/',
  plugins: [compressedCopies()],
  build: {
    outDir: 'dist',
    emptyOutDir: false,
    target: 'es2022',
    modulePreload: { polyfill: false },
    assetsInlineLimit: 0,
    chunkSizeWarningLimit: 900,
  },
  server: { proxy },
  preview: { proxy },
  test: { include: ['src/**/*.test.ts'], environment: 'node' },
} as Parameters<typeof defineConfig>[0]);
