import { defineConfig } from "vitest/config";

// Tests with Chromium, relay and publisher; "npm run test:e2e" runs them, one after the other.
export default defineConfig({
	test: {
		dir: import.meta.dirname,
		include: ["*.test.ts"],
		globalSetup: [`${import.meta.dirname}/setup.ts`],
		fileParallelism: false,
		// These run in real time; a machine that stands still for a moment is no fault of the player.
		retry: 2,
		testTimeout: 90_000,
		hookTimeout: 90_000,
		teardownTimeout: 20_000,
	},
});
