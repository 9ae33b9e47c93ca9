import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:net";
import { join } from "node:path";
import { type Browser, chromium, type Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, expect, inject, onTestFinished } from "vitest";
import type { PlayerStats, Problem, State } from "../src/player.ts";
import { ROOT } from "./setup.ts";

export const CLIP = join(ROOT, "testdata/clip.mp4");

/** A program under test. It ends with the test. */
export class Program {
	readonly #child: ChildProcess;
	readonly #exited: Promise<unknown>;
	log = "";

	constructor(name: string, args: string[]) {
		this.#child = spawn(join(inject("bin"), name), args, { stdio: ["ignore", "pipe", "pipe"] });
		this.#exited = once(this.#child, "exit");
		for (const stream of [this.#child.stdout, this.#child.stderr]) {
			stream?.on("data", (b: Buffer) => {
				this.log = (this.log + b).slice(-100_000);
			});
		}
		onTestFinished(async ({ task }) => {
			await this.kill();
			if (task.result?.state === "fail") console.log(`${name} ${args.join(" ")}\n${this.log.slice(-4000)}`);
		});
	}

	async waitLog(text: string): Promise<this> {
		await expect.poll(() => this.log, { timeout: 20_000, interval: 20 }).toContain(text);
		return this;
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

/** A port of the loopback that nobody uses now. */
export async function freePort(): Promise<number> {
	const server = createServer().listen(0, "127.0.0.1");
	await once(server, "listening");
	const address = server.address();
	server.close();
	await once(server, "close");
	if (!address || typeof address === "string") throw new Error("no port");
	return address.port;
}

export const startRelay = (port: number, ...args: string[]): Promise<Program> =>
	new Program("moq-relay", ["--listen", `127.0.0.1:${port}`, "--ops", "off", ...args]).waitLog("relay started");

export const startClip = (port: number, ...args: string[]): Promise<Program> =>
	new Program("moq-pub", [
		...["--tls-insecure", "--namespace", "live/clip", "--input", CLIP, "--loop", ...args],
		`moqt://127.0.0.1:${port}/`,
	]).waitLog("publishing");

export const relayUrl = (port: number): string => `http://127.0.0.1:${port}/`;

let browser: Browser;
const pages: Page[] = [];

/** Starts Chromium for the tests of a file. */
export function useBrowser(): void {
	beforeAll(async () => {
		browser = await chromium.launch({
			executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
			headless: true,
			args: ["--no-sandbox", "--autoplay-policy=no-user-gesture-required"],
		});
	});
	afterEach(async () => {
		for (const p of pages.splice(0)) await p.close();
	});
	afterAll(() => browser.close());
}

export interface PageOptions {
	width?: number;
	height?: number;
	dark?: boolean;
	/** Runs in the page before its own scripts. */
	before?: () => void;
}

/** Opens a page of a relay. Errors in the page fail the test. */
export async function openPage(url: string, o: PageOptions = {}): Promise<Page> {
	const page = await browser.newPage({
		viewport: { width: o.width ?? 1000, height: o.height ?? 700 },
		colorScheme: o.dark ? "dark" : "light",
	});
	pages.push(page);
	const errors: string[] = [];
	page.on("pageerror", (err) => errors.push(String(err)));
	const console_: string[] = [];
	page.on("console", (m) => console_.push(`[${m.type()}] ${m.text()}`));
	onTestFinished(({ task }) => {
		if (task.result?.state === "fail") console.log(`console:\n${console_.slice(-30).join("\n")}`);
		expect(errors).toEqual([]);
	});
	if (o.before) await page.addInitScript(o.before);
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

	/** Looks and listens for a while. What is seen is the canvas, and what is heard is what goes to the output. */
	look(ms: number): Promise<Sight> {
		return this.page.evaluate(async (duration) => {
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
			while (performance.now() < end) {
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
		}, ms);
	}

	/** Waits until pictures move and the clip's sound is heard, for two seconds in a row. */
	async waitPlaying(what: string, sound = true): Promise<Sight> {
		let last: Sight | undefined;
		let good = 0;
		for (const end = Date.now() + 60_000; Date.now() < end; ) {
			last = await this.look(1000);
			const heard = !sound || last.loudest > 0.005;
			good = last.changes >= 5 && last.bright > 500 && heard ? good + 1 : 0;
			if (good === 2) return last;
		}
		throw new Error(`${what}: not playing; ${JSON.stringify(last)} ${JSON.stringify(await this.info())}`);
	}

	/** Waits for a state, and for a problem if one is named. */
	async waitState(state: State, problem?: string): Promise<Problem | undefined> {
		const want = problem ? { state, problem: { code: problem } } : { state };
		await expect.poll(() => this.info(), { timeout: 40_000, interval: 50 }).toMatchObject(want);
		return (await this.info()).problem;
	}

	/** Keeps a picture of the page if the environment asks for it. */
	async screenshot(name: string): Promise<void> {
		const dir = process.env.MOQ_E2E_SCREENSHOTS;
		if (dir) await this.page.screenshot({ path: join(dir, `${name}.png`) });
	}
}
