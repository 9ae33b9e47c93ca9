import { readFileSync } from "node:fs";
import type { CDPSession, Page } from "playwright-core";
import { expect, test } from "vitest";
import { browserProcesses, useBrowser, useRelay, watch } from "../harness.ts";

useBrowser();
const relay = useRelay({ clip: true });

const MINUTES = Number(process.env.MOQ_SOAK_MINUTES ?? 15);
/** Seconds between two samples. */
const EVERY = 15;
/** The beginning, in which caches fill and code is compiled, does not count. */
const WARM_UP = 0.2;

interface Sample {
	/** Minutes since the start. */
	at: number;
	/** MiB after a collection of garbage. */
	page: number;
	worker: number;
	/** MiB that array buffers of the worker hold: mostly sound on its way, which is freed when the audio thread gets to it. */
	buffers: number;
	/** MiB of resident memory of the processes that show pages, and of the browser's others. */
	renderers: number;
	others: number;
}

test(`memory over ${MINUTES} minutes of playing`, async () => {
	const player = await watch(relay.port, { statistics: "" });
	await player.waitPlaying("at first");
	const { page } = player;
	const worker = page.workers()[0];
	if (!worker) throw new Error("no worker");
	const collect = () => (globalThis as unknown as { gc(): void }).gc(); // Chromium runs with --expose-gc
	const heaps = await Heaps.of(page);
	const samples: Sample[] = [];
	const began = Date.now();
	for (let i = 0; i < (MINUTES * 60) / EVERY; i++) {
		await new Promise((resolve) => setTimeout(resolve, began + (i + 1) * EVERY * 1000 - Date.now()));
		const at = (Date.now() - began) / 60_000;
		await page.evaluate(collect);
		await worker.evaluate(collect);
		const s = { at, page: await heaps.page(), ...(await heaps.worker()), ...(await resident()) };
		samples.push(s);
		const { stats, state } = await player.info();
		console.log(
			`${s.at.toFixed(2)} min  page ${s.page.toFixed(2)} MiB  worker ${s.worker.toFixed(2)} MiB  buffers ${s.buffers.toFixed(1)} MiB  renderers ${s.renderers.toFixed(1)} MiB  others ${s.others.toFixed(1)} MiB  ` +
				`${state} ${stats?.showing} ${stats?.framerate} /s  reconnects ${stats?.reconnects}`,
		);
		// A busy machine makes it stall for a moment; but it plays on by itself.
		await player.waitState("playing");
	}
	const counted = samples.slice(Math.floor(samples.length * WARM_UP));
	for (const what of ["page", "worker", "buffers", "renderers", "others"] as const) {
		const { slope, error } = bestLine(counted.map((s) => [s.at / 60, s[what]]));
		console.log(`figure: ${what}: ${slope.toFixed(2)} MiB per hour, give or take ${error.toFixed(2)}`);
		// What leaks an object per frame loses 10 MiB and more in an hour.
		if ((what === "page" || what === "worker") && counted.length > 20) expect(slope - 2 * error, what).toBeLessThan(2);
	}
});

/** What Runtime.getHeapUsage answers, in bytes. */
interface Usage {
	usedSize: number;
	backingStorageSize?: number;
}

/** Reads how much memory a page and its worker use. */
class Heaps {
	readonly #session: CDPSession;
	readonly #worker: string;
	readonly #waiting = new Map<number, (usage: Usage) => void>();
	#id = 0;

	static async of(page: Page): Promise<Heaps> {
		const session = await page.context().newCDPSession(page);
		const attached = new Promise<string>((resolve) => {
			session.on("Target.attachedToTarget", (e) => resolve(e.sessionId));
		});
		await session.send("Target.setAutoAttach", { autoAttach: true, waitForDebuggerOnStart: false, flatten: false });
		return new Heaps(session, await attached);
	}

	private constructor(session: CDPSession, worker: string) {
		this.#session = session;
		this.#worker = worker;
		session.on("Target.receivedMessageFromTarget", (e) => {
			const { id, result } = JSON.parse(e.message);
			this.#waiting.get(id)?.(result);
			this.#waiting.delete(id);
		});
	}

	async page(): Promise<number> {
		const { usedSize }: Usage = await this.#session.send("Runtime.getHeapUsage");
		return usedSize / 2 ** 20;
	}

	async worker(): Promise<{ worker: number; buffers: number }> {
		const id = ++this.#id;
		const usage = new Promise<Usage>((resolve) => this.#waiting.set(id, resolve));
		const message = JSON.stringify({ id, method: "Runtime.getHeapUsage" });
		await this.#session.send("Target.sendMessageToTarget", { sessionId: this.#worker, message });
		const { usedSize, backingStorageSize } = await usage;
		return { worker: usedSize / 2 ** 20, buffers: (backingStorageSize ?? 0) / 2 ** 20 };
	}
}

async function resident(): Promise<{ renderers: number; others: number }> {
	const sums = { renderers: 0, others: 0 };
	for (const { type, id } of await browserProcesses()) {
		// Processes share pages; of those each counts its part.
		const kib = /^Pss:\s+(\d+)/m.exec(readFileSync(`/proc/${id}/smaps_rollup`, "utf8"))?.[1];
		sums[type === "renderer" ? "renderers" : "others"] += Number(kib ?? 0) / 1024;
	}
	return sums;
}

/** The slope of the line that fits best, and its standard error. */
function bestLine(points: [number, number][]): { slope: number; error: number } {
	const n = points.length;
	const [mx, my] = [0, 1].map((k) => points.reduce((s, p) => s + (p[k] as number), 0) / n) as [number, number];
	const sxx = points.reduce((s, [x]) => s + (x - mx) ** 2, 0);
	const slope = points.reduce((s, [x, y]) => s + (x - mx) * (y - my), 0) / sxx;
	const rest = points.reduce((s, [x, y]) => s + (y - my - slope * (x - mx)) ** 2, 0);
	return { slope, error: Math.sqrt(rest / Math.max(1, n - 2) / sxx) };
}
