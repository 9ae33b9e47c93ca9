import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestProject } from "vitest/node";

/** The root of the repository. */
export const ROOT = new URL("../..", import.meta.url).pathname;

declare module "vitest" {
	interface ProvidedContext {
		/** Directory of the built programs. */
		bin: string;
	}
}

/** Bundles the pages and builds the programs once. */
export default function setup(project: TestProject): () => void {
	const bin = mkdtempSync(join(tmpdir(), "moq-web-e2e-"));
	const run = (...args: string[]) => execFileSync("go", args, { cwd: ROOT, stdio: ["ignore", "inherit", "inherit"] });
	run("generate", "./web");
	run("build", "-o", `${bin}/`, "./cmd/moq-relay", "./cmd/moq-pub", "./cmd/moq-sub");
	project.provide("bin", bin);
	return () => rmSync(bin, { recursive: true, force: true });
}
