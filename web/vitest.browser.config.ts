import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['tests/**/*.browser.ts'],
    globalSetup: ['tests/start-server.ts'],
    // One browser and one server for all: files run one after the other, on two cores.
    fileParallelism: false,
    // A condition that a busy machine takes long for is waited for; the default is one second.
    expect: { poll: { timeout: 20_000 } },
    testTimeout: 90_000,
    hookTimeout: 90_000,
  },
});
