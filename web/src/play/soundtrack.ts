import type { Micros } from "../media/frame.ts";

/** How much sound is held, in seconds; above the largest target. */
const HELD = 4;
/** Samples over which sound fades at the borders of a hole, against clicks. */
const FADE = 96;
/** A block that begins within so many samples of the end of the one before continues it. */
const SNAP = 48;
/** The most by which the speed differs from 1; a third of a semitone would be heard, this is not. */
const MAX_BEND = 0.01;
/** What is further off is jumped to. */
const JUMP_MICROS: Micros = 60_000;
/** Below this nothing is done. */
const CLOSE_MICROS: Micros = 2_000;

/**
 * Sound by media time: blocks are written where they belong, and read at the place that a clock asks for. Where nothing
 * was written there is silence. Reading bends its speed by up to 1 % to keep to the clock, and jumps if it is far off.
 */
export class Soundtrack {
	readonly sampleRate: number;
	readonly #channels: number;
	readonly #size: number;
	readonly #ring: Float32Array[];
	/** Media time of sample 0 of the absolute count. */
	#origin: Micros | undefined;
	/** The place to be read next, in samples since the origin. */
	#position = 0;
	#reading = false;
	/** Written sound, as [start, end) in samples since the origin, in order and not touching. */
	#written: [number, number][] = [];
	/** Frames until the fade at the border of a hole is over, and the sample it starts from. */
	#fadeIn = 0;
	#fadeOut = 0;
	#last: number[];

	/** Samples that were due and not there, since the first that were. */
	missing = 0;
	/** Samples that came after they were due. */
	late = 0;
	jumps = 0;

	constructor(sampleRate: number, channels = 2) {
		this.sampleRate = sampleRate;
		this.#channels = channels;
		this.#size = HELD * sampleRate;
		this.#ring = Array.from({ length: channels }, () => new Float32Array(this.#size));
		this.#last = new Array(channels).fill(0);
	}

	/** Puts a block of planar sound at its place. */
	write(pts: Micros, planes: Float32Array[]): void {
		const frames = planes[0]?.length ?? 0;
		if (frames === 0) return;
		if (this.#origin === undefined) this.#origin = pts;
		let start = this.#toSample(pts);
		if (Math.abs(start - this.#position) > this.#size && (!this.#reading || this.#written.length === 0)) {
			// Another timeline.
			this.restart();
			this.#origin = pts;
			start = 0;
		}
		const before = this.#written.find(([, end]) => Math.abs(end - start) <= SNAP);
		if (before) start = before[1];
		const first = this.#reading ? Math.max(start, Math.ceil(this.#position)) : start;
		const end = Math.min(start + frames, Math.floor(this.#position) + this.#size);
		this.late += Math.max(0, Math.min(first, start + frames) - start);
		if (end <= first) return;
		for (let c = 0; c < this.#channels; c++) {
			const plane = planes[c] ?? planes[0];
			const ring = this.#ring[c];
			if (!plane || !ring) continue;
			for (let i = first; i < end; i++) ring[mod(i, this.#size)] = plane[i - start] as number;
		}
		this.#note(first, end);
	}

	/**
	 * Fills the planes with what is to be heard from the media time want on. It returns the media time of what it has
	 * put there, or undefined if nothing was ever written.
	 */
	read(planes: Float32Array[], want: Micros): Micros | undefined {
		if (this.#origin === undefined) {
			for (const p of planes) p.fill(0);
			return undefined;
		}
		const n = planes[0]?.length ?? 0;
		let speed = 1;
		const off = want - this.#toMicros(this.#position);
		if (!this.#reading || Math.abs(off) > JUMP_MICROS) {
			if (this.#reading) this.jumps++;
			this.#reading = true;
			this.#position = this.#toSample(want);
			this.#startFade();
		} else if (Math.abs(off) > CLOSE_MICROS) {
			// So that what is left would be gone in half a second.
			speed += Math.max(-MAX_BEND, Math.min(MAX_BEND, off / 500_000));
		}
		const at = this.#toMicros(this.#position);
		for (let i = 0; i < n; i++) {
			this.#frame(planes, i);
			this.#position += speed;
		}
		this.#forget();
		return at;
	}

	/** How much sound lies ahead of the reading place without a hole, in microseconds. */
	get ahead(): Micros {
		const interval = this.#written.find(([s, e]) => s <= this.#position + 1 && e > this.#position);
		return interval ? ((interval[1] - this.#position) / this.sampleRate) * 1e6 : 0;
	}

	restart(): void {
		this.#origin = undefined;
		this.#position = 0;
		this.#reading = false;
		this.#written = [];
	}

	#frame(planes: Float32Array[], i: number): void {
		const whole = Math.floor(this.#position);
		const part = this.#position - whole;
		const there = this.#has(whole);
		if (!there) {
			if (this.#fadeIn !== FADE) {
				this.#fadeIn = FADE;
				this.#fadeOut = FADE;
			}
			if (this.#written.length > 0 || this.missing > 0) this.missing++;
			const gain = this.#fadeOut > 0 ? this.#fadeOut-- / FADE : 0;
			for (const [c, p] of planes.entries()) p[i] = (this.#last[c] ?? 0) * gain;
			return;
		}
		const gain = this.#fadeIn > 0 ? 1 - this.#fadeIn-- / FADE : 1;
		const a = mod(whole, this.#size);
		const b = this.#has(whole + 1) ? mod(whole + 1, this.#size) : a;
		for (const [c, p] of planes.entries()) {
			const ring = this.#ring[c] ?? (this.#ring[0] as Float32Array);
			const x = (ring[a] as number) * (1 - part) + (ring[b] as number) * part;
			p[i] = x * gain;
			this.#last[c] = x * gain;
		}
	}

	#startFade(): void {
		this.#fadeIn = FADE - 1;
	}

	#has(sample: number): boolean {
		for (const [s, e] of this.#written) if (sample >= s && sample < e) return true;
		return false;
	}

	#note(start: number, end: number): void {
		const merged: [number, number][] = [];
		let now: [number, number] = [start, end];
		for (const w of this.#written) {
			if (w[1] < now[0] || w[0] > now[1]) merged.push(w);
			else now = [Math.min(w[0], now[0]), Math.max(w[1], now[1])];
		}
		merged.push(now);
		this.#written = merged.sort((a, b) => a[0] - b[0]);
	}

	#forget(): void {
		const at = Math.floor(this.#position);
		while (this.#written[0] && this.#written[0][1] <= at) this.#written.shift();
	}

	#toSample(pts: Micros): number {
		return Math.round(((pts - (this.#origin ?? 0)) * this.sampleRate) / 1e6);
	}

	#toMicros(sample: number): Micros {
		return (this.#origin ?? 0) + (sample / this.sampleRate) * 1e6;
	}
}

function mod(a: number, n: number): number {
	return ((a % n) + n) % n;
}
