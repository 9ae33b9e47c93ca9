import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { chromium } from "playwright-core";
import type { TestProject } from "vitest/node";

/** The root of the repository. */
export const ROOT = new URL("../..", import.meta.url).pathname;

declare module "vitest" {
	interface ProvidedContext {
		/** Directory of the built programs. */
		bin: string;
		/** Address of the running Chromium. */
		chromium: string;
	}
}

/** Bundles the pages, builds the programs, and starts the browser, once. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
	const bin = mkdtempSync(join(tmpdir(), "moq-web-e2e-"));
	const run = (...args: string[]) => execFileSync("go", args, { cwd: ROOT, stdio: ["ignore", "inherit", "inherit"] });
	run("generate", "./web");
	run("build", "-o", `${bin}/`, "./cmd/moq-relay", "./cmd/moq-pub", "./cmd/moq-sub", "./cmd/moq-link");
	project.provide("bin", bin);
	const server = await chromium.launchServer({
		executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
		headless: true,
		args: ["--no-sandbox", "--autoplay-policy=no-user-gesture-required", ...FAKE_CAMERA, ...MEMORY],
	});
	project.provide("chromium", server.wsEndpoint());
	return async () => {
		await server.close();
		rmSync(bin, { recursive: true, force: true });
	};
}

/** A camera that is always there and needs no permission. */
const FAKE_CAMERA = ["--use-fake-device-for-media-stream", "--use-fake-ui-for-media-stream"];

/** Lets a test collect garbage before it looks at the memory. */
const MEMORY = ["--js-flags=--expose-gc"];
