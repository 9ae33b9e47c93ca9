import { defineConfig } from "vitest/config";

// Takes the pictures of the pages; "npm run shots" runs it, and MOQ_SHOTS names the directory that gets them.
export default defineConfig({
	test: {
		dir: import.meta.dirname,
		include: ["*.test.ts"],
		globalSetup: [`${import.meta.dirname}/../setup.ts`],
		testTimeout: 200_000,
		hookTimeout: 90_000,
		teardownTimeout: 20_000,
	},
});
