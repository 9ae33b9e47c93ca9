import type { Millis } from "../media/frame.ts";

/** How far a picture may be from the sound that is heard with it: 80 ms, less what the screen takes to show it. */
export const MAX_SKEW: Millis = 70;
/** Where all pictures come too late for so long, as on a machine that is too slow, one is shown all the same. */
const PATIENCE: Millis = 1000;

/**
 * Keeps pictures from the screen that do not belong to what is heard, as while a decoder works through the beginning of
 * a group that was joined in its middle, or through what a network that stood still brings all at once.
 */
export class LipSync {
	#apartSince: Millis | undefined;

	/** Whether to show a picture with which sound would be heard that is so much later; undefined without sound. */
	admits(skew: Millis | undefined, now: Millis): boolean {
		if (skew === undefined || Math.abs(skew) <= MAX_SKEW) {
			this.#apartSince = undefined;
			return true;
		}
		this.#apartSince ??= now;
		if (now - this.#apartSince < PATIENCE) return false;
		this.#apartSince = undefined;
		return true;
	}
}
