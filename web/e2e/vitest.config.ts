import { defineConfig } from "vitest/config";

// Tests with Chromium, relay and publisher; "npm run test:e2e" runs them, one after the other.
export default defineConfig({
	test: {
		dir: import.meta.dirname,
		include: ["*.test.ts"],
		globalSetup: [`${import.meta.dirname}/setup.ts`],
		fileParallelism: false,
		// These run in real time, on machines that may be busy; what has to happen is waited for long enough.
		testTimeout: 120_000,
		hookTimeout: 90_000,
		teardownTimeout: 20_000,
	},
});
