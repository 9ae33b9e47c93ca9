import { defineConfig } from "vitest/config";

// Plays for a long time and looks at the memory; "npm run soak" runs it, for as long as MOQ_SOAK_MINUTES says.
export default defineConfig({
	test: {
		dir: import.meta.dirname,
		include: ["*.test.ts"],
		globalSetup: [`${import.meta.dirname}/../setup.ts`],
		testTimeout: 1e9,
		hookTimeout: 90_000,
		teardownTimeout: 20_000,
		reporters: ["verbose"],
	},
});
