import type { Micros, Millis } from "../media/frame.ts";

/** How long back arrivals count. */
const WINDOW: Millis = 10_000;
/** Most arrivals that are kept; above it the oldest go. */
const MAX_SAMPLES = 1024;
/** A track comes in real time when over this long it has not advanced by half as much again. */
const SETTLE: Millis = 100;
const SETTLE_RATE = 1.5;
/** What comes in the first moments, while decoders start, says nothing about later. */
const WARM_UP: Millis = 1000;
const WARM_UP_FRAMES = 10;

/**
 * How long the frames of one track take to get here, up to an unknown constant: arrival minus media time. Whoever joins
 * in the middle of a group gets the beginning of it at once; those frames do not count.
 */
export class Transit {
	#samples: { at: Millis; transit: Millis }[] = [];
	#anchor: { at: Millis; pts: Micros } | undefined;
	#settled = false;
	#warm: Millis = 0;
	#provisional: Millis | undefined;
	#sorted: { at: Millis; values: Millis[] } | undefined;

	/** Notes that a frame was ready to be shown or heard. */
	add(at: Millis, pts: Micros): void {
		const transit = at - pts / 1000;
		this.#provisional = Math.min(this.#provisional ?? transit, transit);
		if (!this.#settled) {
			this.#anchor ??= { at, pts };
			const elapsed = at - this.#anchor.at;
			if (elapsed < SETTLE) return;
			this.#settled = (pts - this.#anchor.pts) / 1000 < SETTLE_RATE * elapsed;
			this.#anchor = { at, pts };
			if (!this.#settled) return;
			this.#warm = at + WARM_UP;
		}
		this.#samples.push({ at, transit });
		if (this.#samples.length > MAX_SAMPLES) this.#samples.shift();
		while ((this.#samples[0] as { at: Millis }).at < at - WINDOW) this.#samples.shift();
	}

	/** Forgets what was before some moment: the way has become longer for good. */
	forget(before: Millis): void {
		this.#samples = this.#samples.filter((s) => s.at >= before);
		this.#sorted = undefined;
	}

	/** The track was joined anew; it will catch up first. */
	joined(): void {
		this.#settled = false;
		this.#anchor = undefined;
	}

	get settled(): boolean {
		return this.#settled;
	}

	/** The shortest of the window; before anything counts, of all that came. */
	get min(): Millis | undefined {
		if (this.#samples.length === 0) return this.#provisional;
		let min = Number.POSITIVE_INFINITY;
		for (const s of this.#samples) if (s.transit < min) min = s.transit;
		return min;
	}

	/** The shortest since a moment; undefined if there are fewer than n. */
	minSince(since: Millis, n: number): Millis | undefined {
		const recent = this.#samples.filter((s) => s.at >= since);
		if (recent.length < n) return undefined;
		return Math.min(...recent.map((s) => s.transit));
	}

	/** The transit that a share q of the window does not exceed. It is looked at anew four times a second. */
	quantile(q: number, now: Millis): Millis | undefined {
		if (this.#samples.length === 0) return undefined;
		if (!this.#sorted || now - this.#sorted.at >= 250) {
			const warm = this.#samples.filter((s) => s.at >= this.#warm);
			const counted = warm.length >= WARM_UP_FRAMES ? warm : this.#samples;
			this.#sorted = { at: now, values: counted.map((s) => s.transit).sort((a, b) => a - b) };
		}
		const { values } = this.#sorted;
		return values[Math.min(values.length - 1, Math.floor(q * values.length))];
	}
}
