import type { Millis } from "../media/frame.ts";

/** So many groups given up among so many mean that the rendition is too good for the path. */
const BAD = 2;
const AMONG = 5;
/** How long a rendition is not tried again, doubled each time. */
const HOLD_MIN: Millis = 8_000;
const HOLD_MAX: Millis = 64_000;
/** So many good groups in a row make it forget that the rendition was too good. */
const GOOD = 20;

/**
 * Chooses the better rendition by what became of its groups. Level 0 is the smallest rendition alone; the smallest one
 * is always received, and one better at most.
 */
export class QualityControl {
	readonly #levels: number;
	#level: number;
	#recent: boolean[] = [];
	#hold: Millis = HOLD_MIN;
	#until: Millis = 0;
	#good = 0;

	constructor(levels: number) {
		this.#levels = Math.max(1, levels);
		this.#level = this.#levels - 1;
	}

	get levels(): number {
		return this.#levels;
	}

	get level(): number {
		return this.#level;
	}

	/** A group of the better rendition has come to its end, or was given up. It returns true if the level changes. */
	group(late: boolean, now: Millis): boolean {
		if (this.#level === 0) return false;
		this.#recent = [...this.#recent.slice(1 - AMONG), late];
		this.#good = late ? 0 : this.#good + 1;
		if (this.#good >= GOOD) this.#hold = HOLD_MIN;
		if (this.#recent.filter((x) => x).length < BAD) return false;
		this.#set(this.#level - 1);
		this.#until = now + this.#hold;
		this.#hold = Math.min(HOLD_MAX, this.#hold * 2);
		return true;
	}

	/** Tries the next better rendition again when that is due. It returns true if the level changes. */
	advance(now: Millis): boolean {
		if (this.#level >= this.#levels - 1 || now < this.#until) return false;
		this.#set(this.#level + 1);
		// One step at a time.
		this.#until = now + HOLD_MIN;
		return true;
	}

	#set(level: number): void {
		this.#level = level;
		this.#recent = [];
		this.#good = 0;
	}
}
