import type { Micros, Millis } from "../media/frame.ts";
import type { SoundClock, SoundStatus, ToSound } from "./messages.ts";
import type { WallClock } from "./wallclock.ts";

/** How fast the measured clock of the output is followed; single readings are off by some milliseconds. */
const SMOOTH = 0.1;
/** A reading that is off by more is not noise. */
const JUMP: Millis = 40;
/** Most messages that the audio thread may not have come to, some seconds of sound; what is above is dropped. */
const MAX_UNANSWERED = 400;
/** A status that is older says nothing about what is heard now. */
const STATUS_AGE: Millis = 300;

/** The worker's end of the way to the audio thread. Without a clock the output does not run. */
export class SoundLink {
	readonly #port: MessagePort;
	readonly #wall: WallClock;
	/** Local milliseconds at which the sample of context time 0 would have been heard. */
	#zero: Millis | undefined;
	#sampleRate = 48000;
	#latency: Millis = 0;
	#status: SoundStatus | undefined;
	#statusAt: Millis = 0;
	/** Messages since the last status. */
	#unanswered = 0;
	/** Blocks of sound that were dropped because the audio thread does not run. */
	dropped = 0;

	constructor(port: MessagePort, wall: WallClock) {
		this.#port = port;
		this.#wall = wall;
		port.onmessage = (e: MessageEvent<SoundStatus>) => {
			this.#status = e.data;
			this.#statusAt = performance.now();
			this.#unanswered = 0;
		};
	}

	get running(): boolean {
		return this.#zero !== undefined;
	}

	get latency(): Millis {
		return this.#latency;
	}

	get sampleRate(): number {
		return this.#sampleRate;
	}

	get status(): SoundStatus | undefined {
		return this.#status;
	}

	setClock(c: SoundClock | undefined): void {
		if (!c) {
			this.#zero = undefined;
			this.#status = undefined;
			return;
		}
		const now = performance.now();
		const local = c.wall - (this.#wall.at(now) - now);
		const zero = local - c.heard * 1000;
		this.#sampleRate = c.sampleRate;
		if (this.#zero === undefined || Math.abs(zero - this.#zero) > JUMP) {
			this.#zero = zero;
			this.#latency = c.latency;
			return;
		}
		this.#zero += SMOOTH * (zero - this.#zero);
		this.#latency += SMOOTH * (c.latency - this.#latency);
	}

	send(pts: Micros, planes: Float32Array[]): void {
		this.#post(
			{ type: "pcm", pts, planes },
			planes.map((p) => p.buffer as ArrayBuffer),
		);
	}

	#post(m: ToSound, transfer: ArrayBuffer[] = []): void {
		if (this.#unanswered >= MAX_UNANSWERED) {
			if (m.type === "pcm") this.dropped++;
			return;
		}
		this.#unanswered++;
		this.#port.postMessage(m, transfer);
	}

	/** Tells what is to be heard when: media time plus offset is local time. */
	want(offset: Millis): void {
		if (this.#zero === undefined) return;
		this.#post({ type: "want", context: 0, pts: (this.#zero - offset) * 1000 });
	}

	restart(): void {
		this.#status = undefined;
		const m: ToSound = { type: "restart" };
		this.#port.postMessage(m);
	}

	/** Local time minus media time of the sound that is heard now; undefined while there is none. */
	heardOffset(now: Millis): Millis | undefined {
		const s = this.#status;
		if (this.#zero === undefined || s?.pts === undefined || now - this.#statusAt > STATUS_AGE) return undefined;
		if (s.ahead === 0) return undefined;
		return this.#zero + s.context * 1000 - s.pts / 1000;
	}
}
