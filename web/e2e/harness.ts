import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Browser, type BrowserContext, chromium, type Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, expect, inject, onTestFailed, onTestFinished } from "vitest";
import type { PlayerStats, Problem, ShownFrame, State } from "../src/player.ts";
import { ROOT } from "./setup.ts";

export const CLIP = join(ROOT, "testdata/clip.mp4");

/** A program under test. It ends with the test, or with the tests of a file if it is started before them. */
export class Program {
	readonly #child: ChildProcess;
	readonly #exited: Promise<unknown>;
	readonly #what: string;
	log = "";

	constructor(name: string, args: string[]) {
		this.#what = `${name} ${args.join(" ")}`;
		this.#child = spawn(join(inject("bin"), name), args, { stdio: ["ignore", "pipe", "pipe"] });
		this.#exited = once(this.#child, "exit");
		for (const stream of [this.#child.stdout, this.#child.stderr]) {
			stream?.on("data", (b: Buffer) => {
				this.log = (this.log + b).slice(-100_000);
			});
		}
		if (shared) shared.push(this);
		else onTestFinished(() => this.kill());
		if (!shared) onTestFailed(() => console.log(`${this.#what}\n${this.log.slice(-4000)}`));
	}

	async waitLog(text: string): Promise<this> {
		for (const end = Date.now() + 60_000; !this.log.includes(text); ) {
			const ended = this.#child.exitCode !== null || this.#child.signalCode !== null;
			if (ended || Date.now() > end) throw new Error(`no ${JSON.stringify(text)} from ${this.#what}\n${this.log}`);
			await new Promise((resolve) => setTimeout(resolve, 20));
		}
		return this;
	}

	/** Lets it stand still for a while. */
	async freeze(ms: number): Promise<void> {
		this.#child.kill("SIGSTOP");
		await new Promise((resolve) => setTimeout(resolve, ms));
		this.#child.kill("SIGCONT");
	}

	/** Asks it to end, and waits. */
	async terminate(): Promise<void> {
		this.#child.kill("SIGTERM");
		await this.#exited;
	}

	/** Ends it without a word. */
	async kill(): Promise<void> {
		if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
		this.#child.kill("SIGKILL");
		await this.#exited;
	}

	get exited(): Promise<unknown> {
		return this.#exited;
	}
}

/** Programs that belong to a file, not to a test; undefined while a test runs. */
let shared: Program[] | undefined;

/** A relay for all tests of a file, with the clip published to it as live/clip if clip is set, and metrics if ops is. */
export function useRelay(o: { clip?: boolean; ops?: boolean } = {}): { readonly port: number; readonly ops: number } {
	const relay = { port: 0, ops: 0 };
	beforeAll(async () => {
		const programs: Program[] = [];
		shared = programs;
		try {
			relay.port = await freePort();
			relay.ops = o.ops ? await freePort() : 0;
			await startRelay(relay.port, ...(o.ops ? ["--ops", `127.0.0.1:${relay.ops}`] : []));
			if (o.clip) await startClip(relay.port);
		} finally {
			shared = undefined;
		}
		return async () => {
			for (const p of programs.reverse()) await p.kill();
		};
	});
	return relay;
}

/**
 * A port of the loopback that nobody uses now. It is not one of those that the system gives to clients, so that it
 * stays free while the relay behind it restarts.
 */
export async function freePort(): Promise<number> {
	for (let attempt = 0; attempt < 100; attempt++) {
		const port = 20_000 + Math.floor(Math.random() * 12_000);
		const server = createServer();
		const free = await new Promise<boolean>((resolve) => {
			server.once("error", () => resolve(false));
			server.listen(port, "127.0.0.1", () => resolve(true));
		});
		if (!free) continue;
		server.close();
		await once(server, "close");
		return port;
	}
	throw new Error("no free port");
}

export const startRelay = (port: number, ...args: string[]): Promise<Program> =>
	new Program("moq-relay", ["--listen", `127.0.0.1:${port}`, "--ops", "off", ...args]).waitLog("relay started");

export const startClip = (port: number, ...args: string[]): Promise<Program> =>
	new Program("moq-pub", [
		...["--tls-insecure", "--namespace", "live/clip", "--input", CLIP, "--loop", ...args],
		`moqt://127.0.0.1:${port}/`,
	]).waitLog("publishing");

/** The clip with other codecs. */
export function transcode(...args: string[]): string {
	const dir = mkdtempSync(join(tmpdir(), "moq-web-media-"));
	onTestFinished(() => rmSync(dir, { recursive: true, force: true }));
	const out = join(dir, "out.mp4");
	execFileSync("ffmpeg", [
		...["-v", "error", "-i", CLIP, ...args],
		...["-movflags", "+cmaf+frag_every_frame+separate_moof+skip_trailer", out],
	]);
	return out;
}

/** A link to a relay, as moq-link describes it, and the program that is the link; TCP on its port is that of the relay. */
export async function startLink(to: number, link: string): Promise<{ port: number; program: Program }> {
	const port = await freePort();
	const args = ["--listen", `127.0.0.1:${port}`, "--to", `127.0.0.1:${to}`, "--link", link];
	return { port, program: await new Program("moq-link", args).waitLog("link") };
}

/** The series of a metric of a relay, by its labels. */
export async function metrics(ops: number, name: string): Promise<{ labels: Record<string, string>; value: number }[]> {
	const text = await (await fetch(`http://127.0.0.1:${ops}/metrics`)).text();
	return text.split("\n").flatMap((line) => {
		const m = /^(\w+)\{(.*)\} (\S+)/.exec(line);
		if (m?.[1] !== name) return [];
		const labels = Object.fromEntries([...(m[2] ?? "").matchAll(/(\w+)="([^"]*)"/g)].map((l) => [l[1], l[2]]));
		return [{ labels, value: Number(m[3]) }];
	});
}

/** The middle value. */
export const median = (x: number[]): number => quantile(x, 0.5);

export function quantile(x: number[], q: number): number {
	const sorted = [...x].sort((a, b) => a - b);
	return sorted[Math.min(sorted.length - 1, Math.floor(q * sorted.length))] ?? Number.NaN;
}

/** Within a frame, or within what can be seen where the page does not get to look that often. */
export const frameTime = (interval: number): number => Math.max(34, 2 * interval + 10);

/** Writes a figure that was measured; nothing is asserted of it. */
export const figure = (what: string, values: number[]): void =>
	console.log(
		`figure: ${what}: p50 ${quantile(values, 0.5).toFixed(1)}, p95 ${quantile(values, 0.95).toFixed(1)}, n ${values.length}`,
	);

export const relayUrl = (port: number): string => `http://127.0.0.1:${port}/`;

let browser: Browser;
const contexts: BrowserContext[] = [];

/** Connects to the Chromium that all tests use. */
export function useBrowser(): void {
	beforeAll(async () => {
		browser = await chromium.connect(inject("chromium"));
	});
	afterEach(async () => {
		for (const c of contexts.splice(0)) await c.close();
	});
	afterAll(() => browser.close());
}

/** The browser's processes: what they are for, and their ids. */
export async function browserProcesses(): Promise<{ type: string; id: number }[]> {
	const session = await browser.newBrowserCDPSession();
	const { processInfo } = await session.send("SystemInfo.getProcessInfo");
	await session.detach();
	return processInfo.map(({ type, id }) => ({ type, id }));
}

export interface PageOptions {
	width?: number;
	height?: number;
	dark?: boolean;
	/** Runs in the page before its own scripts. */
	before?: () => void;
	/** Runs in the player's worker before its own script. */
	worker?: string;
	/** Device pixels per pixel, for pictures. */
	scale?: number;
	/** As on a phone: touch, no mouse. */
	touch?: boolean;
}

/** Opens a page of a relay. Errors in the page fail the test. */
export async function openPage(url: string, o: PageOptions = {}): Promise<Page> {
	const context = await browser.newContext({
		viewport: { width: o.width ?? 1000, height: o.height ?? 700 },
		colorScheme: o.dark ? "dark" : "light",
		deviceScaleFactor: o.scale ?? 1,
		hasTouch: o.touch ?? false,
		isMobile: o.touch ?? false,
	});
	contexts.push(context);
	const page = await context.newPage();
	const errors: string[] = [];
	page.on("pageerror", (err) => errors.push(String(err)));
	const console_: string[] = [];
	page.on("console", (m) => console_.push(`[${m.type()}] ${m.text()}`));
	onTestFailed(() => console.log(`console:\n${console_.slice(-30).join("\n")}`));
	onTestFinished(() => expect(errors).toEqual([]));
	if (o.before) await page.addInitScript(o.before);
	if (o.worker !== undefined) {
		await page.addInitScript((first) => {
			// Modules begin in order, but messages do not wait for one that is imported later; so they are kept for it.
			const Original = Worker;
			globalThis.Worker = class extends Original {
				constructor(url: string | URL, options?: WorkerOptions) {
					const script = `${first}
						const early = [];
						const keep = (e) => early.push(e.data);
						addEventListener("message", keep);
						await import(${JSON.stringify(String(url))});
						removeEventListener("message", keep);
						for (const data of early) dispatchEvent(new MessageEvent("message", { data }));`;
					super(URL.createObjectURL(new Blob([script], { type: "text/javascript" })), options);
				}
			};
		}, o.worker);
	}
	await page.goto(url);
	return page;
}

/** Opens the player of a relay's page on a broadcast. */
export async function watch(port: number, query: Record<string, string> = {}, o: PageOptions = {}): Promise<Player> {
	const q = new URLSearchParams({ namespace: "live/clip", ...query });
	const page = await openPage(`${relayUrl(port)}?${q}`, o);
	await page.waitForSelector("moq-player");
	return new Player(page);
}

/** What is seen and heard in one second. */
export interface Sight {
	/** Pictures that differed from the one before. */
	changes: number;
	/** Of 2304 pixels, those that are not black. */
	bright: number;
	/** RMS of the loudest moment; 1 is full scale. */
	loudest: number;
	/** Hz, of the loudest moment. */
	pitch: number;
	/** When the white bar at the top appeared, in milliseconds since 1970. */
	flashes: number[];
}

export class Player {
	readonly page: Page;

	constructor(page: Page) {
		this.page = page;
	}

	info(): Promise<{ state: State; problem: Problem | undefined; stats: PlayerStats | undefined }> {
		return this.page.evaluate(() => {
			const p = document.querySelector("moq-player");
			if (!p) throw new Error("no player");
			return { state: p.state, problem: p.problem, stats: p.stats };
		});
	}

	/**
	 * Looks and listens for a while, or until enough pictures have moved and, with "heard", sound is loud enough. What is
	 * seen is the canvas, and what is heard is what goes to the output.
	 */
	look(ms: number, enough: "all" | "seen" | "heard" = "all"): Promise<Sight> {
		return this.page.evaluate(
			async ({ duration, enough }) => {
				const player = document.querySelector("moq-player");
				const canvas = player?.shadowRoot?.querySelector<HTMLCanvasElement>("canvas.screen");
				if (!player || !canvas) throw new Error("no player");
				const small = new OffscreenCanvas(64, 36);
				const context = small.getContext("2d", { willReadFrequently: true });
				if (!context) throw new Error("no context");
				const output = player.audio;
				const analyser = output?.context.createAnalyser();
				if (output && analyser) {
					analyser.fftSize = 4096;
					output.connect(analyser);
				}
				const sight = { changes: 0, bright: 0, loudest: 0, pitch: 0, flashes: [] as number[] };
				let last = 0;
				let white = true;
				const end = performance.now() + duration;
				const done = () =>
					enough !== "all" && sight.changes >= 6 && sight.bright > 500 && (enough === "seen" || sight.loudest > 0.005);
				while (performance.now() < end && !done()) {
					await new Promise(requestAnimationFrame);
					context.drawImage(canvas, 0, 0, 64, 36);
					const d = context.getImageData(0, 0, 64, 36).data;
					let hash = 0;
					sight.bright = 0;
					for (let i = 0; i < d.length; i += 4) {
						const [r = 0, g = 0, b = 0] = [d[i], d[i + 1], d[i + 2]];
						hash = (hash * 31 + r + g * 7 + b * 13) | 0;
						if (r > 20 || g > 20 || b > 20) sight.bright++;
					}
					if (hash !== last) sight.changes++;
					last = hash;
					// The bar is the upper 12 of 720 lines: less than one line here, but much brighter than what is below.
					const wasWhite = white;
					let sum = 0;
					for (let x = 16; x < 48; x++) sum += d[x * 4] as number;
					white = sum / 32 > 90;
					if (white && !wasWhite) sight.flashes.push(performance.timeOrigin + performance.now());
					if (!analyser) continue;
					const wave = new Float32Array(analyser.fftSize);
					analyser.getFloatTimeDomainData(wave);
					const rms = Math.sqrt(wave.reduce((s, v) => s + v * v, 0) / wave.length);
					if (rms <= sight.loudest) continue;
					sight.loudest = rms;
					const bins = new Float32Array(analyser.frequencyBinCount);
					analyser.getFloatFrequencyData(bins);
					sight.pitch = (bins.indexOf(Math.max(...bins)) * analyser.context.sampleRate) / analyser.fftSize;
				}
				if (output && analyser) output.disconnect(analyser);
				return sight;
			},
			{ duration: ms, enough },
		);
	}

	/** Waits until pictures move and the clip's sound is heard; after a restart, for two looks in a row. */
	async waitPlaying(what: string, o: { sound?: boolean; looks?: number } = {}): Promise<Sight> {
		const sound = o.sound ?? true;
		let last: Sight | undefined;
		let good = 0;
		for (const end = Date.now() + 60_000; Date.now() < end; ) {
			last = await this.look(1500, sound ? "heard" : "seen");
			const heard = !sound || last.loudest > 0.005;
			good = last.changes >= 6 && last.bright > 500 && heard ? good + 1 : 0;
			if (good === (o.looks ?? 1)) return last;
			if (good > 0) await this.page.waitForTimeout(1000);
		}
		throw new Error(`${what}: not playing; ${JSON.stringify(last)} ${JSON.stringify(await this.info())}`);
	}

	/**
	 * Watches pictures for a while: when each was seen on the canvas, what time is burnt into it (by the test pattern),
	 * whether the clip's white bar is there, and what the player says of it. What the page sees comes up to a refresh
	 * after the worker has drawn it, or more if it looks less often: interval is the usual time between two looks.
	 */
	watchFrames(ms: number): Promise<{
		interval: number;
		frames: { seen: number; burnt: number; flash: boolean; said: ShownFrame | undefined }[];
	}> {
		return this.page.evaluate(async (duration) => {
			const player = document.querySelector("moq-player");
			const canvas = player?.shadowRoot?.querySelector<HTMLCanvasElement>("canvas.screen");
			if (!player || !canvas) throw new Error("no player");
			const said: ShownFrame[] = [];
			const tell = (f: ShownFrame) => {
				said.push(f);
				player.requestVideoFrameCallback(tell);
			};
			player.requestVideoFrameCallback(tell);
			const copy = new OffscreenCanvas(420, 236);
			const c = copy.getContext("2d", { willReadFrequently: true });
			if (!c) throw new Error("no context");
			const frames: { seen: number; burnt: number; flash: boolean; said: ShownFrame | undefined }[] = [];
			let [last, wasFlash] = [-1, true];
			const looks: number[] = [];
			for (const end = performance.now() + duration; performance.now() < end; ) {
				await new Promise(requestAnimationFrame);
				c.drawImage(canvas, 0, 0, 420, 236);
				const seen = performance.timeOrigin + performance.now();
				looks.push(seen);
				const bars = c.getImageData(0, 222, 420, 1).data;
				let burnt = 0;
				for (let bit = 0; bit < 42; bit++) burnt = burnt * 2 + ((bars[(bit * 10 + 5) * 4] ?? 0) > 127 ? 1 : 0);
				const top = c.getImageData(0, 1, 420, 1).data;
				let sum = 0;
				for (let x = 100; x < 320; x++) sum += top[x * 4] ?? 0;
				const flash = sum / 220 > 150;
				if (burnt === last && flash === wasFlash) continue;
				frames.push({ seen, burnt, flash: flash && !wasFlash, said: undefined });
				[last, wasFlash] = [burnt, flash];
			}
			for (const f of frames) {
				// Of the pattern the very picture; of the clip the newest that was shown when it was seen.
				const now = Date.now();
				const pattern = Math.abs(f.burnt - now) < 60_000;
				f.said = pattern
					? said.find((x) => x.captured !== undefined && Math.abs(x.captured - f.burnt) < 1.5)
					: said.filter((x) => x.at <= f.seen).at(-1);
			}
			const intervals = looks.slice(1).map((t, i) => t - (looks[i] ?? 0));
			return { frames, interval: intervals.sort((a, b) => a - b)[Math.floor(intervals.length / 2)] ?? ms };
		}, ms);
	}

	/** How much later than the clip's white bar its beep is heard, for each of both within a while. */
	skews(ms: number): Promise<number[]> {
		return this.page.evaluate(async (duration) => {
			const player = document.querySelector("moq-player");
			const canvas = player?.shadowRoot?.querySelector<HTMLCanvasElement>("canvas.screen");
			const output = player?.audio;
			if (!canvas || !output) throw new Error("no picture or no sound");
			const context = output.context as AudioContext;
			const analyser = new AnalyserNode(context, { fftSize: 2048 });
			output.connect(analyser);
			const wave = new Float32Array(2048);
			const copy = new OffscreenCanvas(42, 60);
			const c = copy.getContext("2d", { willReadFrequently: true });
			const [flashes, beeps]: [number[], number[]] = [[], []];
			let [white, loud] = [true, true];
			for (const end = performance.now() + duration; performance.now() < end; ) {
				await new Promise(requestAnimationFrame);
				const now = performance.now();
				c?.drawImage(canvas, 0, 0, 42, 60);
				const was = white;
				white = (c?.getImageData(20, 0, 1, 1).data[0] ?? 0) > 150;
				if (white && !was) flashes.push(now);
				analyser.getFloatTimeDomainData(wave);
				const quiet = !loud;
				const first = wave.findIndex((v) => Math.abs(v) > 0.15);
				loud = first >= 0;
				if (loud && quiet)
					beeps.push(now - ((2048 - first) * 1000) / context.sampleRate + context.outputLatency * 1000);
			}
			output.disconnect(analyser);
			return flashes.flatMap((f) => {
				const nearest = beeps.map((b) => b - f).sort((a, b) => Math.abs(a) - Math.abs(b))[0];
				return nearest !== undefined && Math.abs(nearest) < 500 ? [nearest] : [];
			});
		}, ms);
	}

	/** Waits until sound of one of these pitches is heard; a busy machine tears it into pieces at first. */
	async waitPitch(...hz: number[]): Promise<void> {
		const heard: number[] = [];
		for (const end = Date.now() + 60_000; Date.now() < end; ) {
			const { pitch, loudest } = await this.look(700);
			if (loudest > 0.005 && hz.some((x) => Math.abs(x - pitch) < 25)) return;
			heard.push(pitch);
		}
		throw new Error(`heard ${heard}, not ${hz}; ${JSON.stringify(await this.info())}`);
	}

	/** Waits for a state, and for a problem if one is named. */
	async waitState(state: State, problem?: string): Promise<Problem | undefined> {
		const want = problem ? { state, problem: { code: problem } } : { state };
		await expect.poll(() => this.info(), { timeout: 40_000, interval: 50 }).toMatchObject(want);
		return (await this.info()).problem;
	}
}
