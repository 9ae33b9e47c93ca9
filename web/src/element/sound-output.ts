import type { SoundClock, ToSound } from "../player/messages.ts";

/** How often the worker is told how the output's clock runs, in milliseconds. */
const CLOCK_INTERVAL = 200;

/** The page's side of the sound: the audio context, its volume, and its clock. */
export class SoundOutput {
	readonly #onClock: (c: SoundClock | undefined) => void;
	readonly #onBlocked: (blocked: boolean) => void;
	readonly #port: MessagePort;
	#context: AudioContext | undefined;
	#gain: GainNode | undefined;
	#timer: ReturnType<typeof setInterval> | undefined;
	#volume = 1;
	#muted = false;
	#closed = false;

	/** port is handed on to the audio thread, which gets its sound there. */
	constructor(port: MessagePort, onClock: (c: SoundClock | undefined) => void, onBlocked: (blocked: boolean) => void) {
		this.#port = port;
		this.#onClock = onClock;
		this.#onBlocked = onBlocked;
	}

	/** Starts the output; without a gesture of the user the browser may keep it waiting. */
	async start(worklet: URL): Promise<void> {
		if (typeof AudioContext === "undefined") return;
		const context = new AudioContext({ latencyHint: "interactive", sampleRate: 48000 });
		this.#context = context;
		const gain = context.createGain();
		this.#gain = gain;
		this.#apply();
		gain.connect(context.destination);
		context.onstatechange = () => this.#state();
		await addModule(context, worklet);
		if (this.#closed) return;
		const node = new AudioWorkletNode(context, "moq-sound", { numberOfInputs: 0, outputChannelCount: [2] });
		const m: ToSound = { type: "port", port: this.#port };
		node.port.postMessage(m, [this.#port]);
		node.connect(gain);
		this.#timer = setInterval(() => this.#tick(), CLOCK_INTERVAL);
		this.#state();
		void context.resume().catch(() => undefined);
	}

	/** Call it from a gesture of the user. */
	resume(): void {
		void this.#context?.resume().catch(() => undefined);
	}

	get blocked(): boolean {
		return this.#context?.state === "suspended";
	}

	/** The node that all sound goes through, for meters and tests. */
	get node(): AudioNode | undefined {
		return this.#gain;
	}

	setVolume(volume: number, muted: boolean): void {
		this.#volume = volume;
		this.#muted = muted;
		this.#apply();
	}

	#apply(): void {
		if (!this.#gain || !this.#context) return;
		// Loudness goes with the square, roughly.
		const level = this.#muted ? 0 : this.#volume ** 2;
		this.#gain.gain.setTargetAtTime(level, this.#context.currentTime, 0.015);
	}

	close(): void {
		this.#closed = true;
		clearInterval(this.#timer);
		void this.#context?.close().catch(() => undefined);
		this.#context = undefined;
	}

	#state(): void {
		if (this.#closed) return;
		const running = this.#context?.state === "running";
		this.#onBlocked(!running);
		if (running) this.#tick();
		else this.#onClock(undefined);
	}

	#tick(): void {
		const context = this.#context;
		if (context?.state !== "running") return;
		const now = performance.now();
		let { contextTime, performanceTime } = context.getOutputTimestamp();
		if (!contextTime || !performanceTime) {
			// Not known yet, or not told by this browser.
			contextTime = context.currentTime - (context.outputLatency || context.baseLatency || 0);
			performanceTime = now;
		}
		const heardNow = contextTime * 1000 + (now - performanceTime);
		this.#onClock({
			sampleRate: context.sampleRate,
			heard: contextTime,
			wall: performance.timeOrigin + performanceTime,
			latency: Math.min(500, Math.max(0, context.currentTime * 1000 - heardNow)),
		});
	}
}

/** Loads the worklet, from another site too. */
async function addModule(context: AudioContext, url: URL): Promise<void> {
	await context.audioWorklet.addModule(url.href);
}
