import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['tests/**/*.browser.ts'],
    globalSetup: ['tests/start-server.ts'],
    // One browser and one server for all: files run one after the other, on two cores.
    fileParallelism: false,
    testTimeout: 90_000,
    hookTimeout: 90_000,
  },
});
