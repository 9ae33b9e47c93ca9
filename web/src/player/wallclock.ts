import type { Millis } from "../media/frame.ts";

/**
 * The wall clock with the resolution of performance.now(), which alone drifts off over hours and stands still while
 * the machine sleeps.
 */
export class WallClock {
	#offset = performance.timeOrigin;
	#checked = 0;

	/** Milliseconds since 1970 at a moment of performance.now(). */
	at(now: Millis): number {
		if (now - this.#checked > 1000) {
			this.#checked = now;
			const offset = Date.now() - performance.now();
			if (Math.abs(offset - this.#offset) > 5) this.#offset = offset;
		}
		return this.#offset + now;
	}
}
