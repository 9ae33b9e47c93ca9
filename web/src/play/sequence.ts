import type { EncodedFrame, Micros, Millis } from "../media/frame.ts";

/** Most packets that wait for one that is missing. */
const MAX_WAITING = 50;
/** Packets that overlap by less than this follow each other. */
const TOLERANCE: Micros = 1000;

interface Waiting {
	frame: EncodedFrame;
	at: Millis;
}

/** Puts packets of sound in order, and waits a moment for one that is missing. */
export class AudioSequencer {
	#waiting: Waiting[] = [];
	#end: Micros | undefined;
	/** How long to wait for a missing packet. */
	patience: Millis = 20;
	/** Packets that came after their successors were played, or twice. */
	late = 0;
	/** Holes that were given up waiting for. */
	missing = 0;

	push(frame: EncodedFrame, now: Millis): void {
		if (this.#end !== undefined && frame.pts < this.#end - TOLERANCE) {
			this.late++;
			return;
		}
		if (this.#waiting.some((w) => w.frame.pts === frame.pts)) {
			this.late++;
			return;
		}
		this.#waiting.push({ frame, at: now });
		this.#waiting.sort((a, b) => a.frame.pts - b.frame.pts);
	}

	/** The next packet that may be decoded. */
	next(now: Millis): EncodedFrame | undefined {
		const head = this.#waiting[0];
		if (!head) return undefined;
		const { frame } = head;
		const hole = this.#end !== undefined && frame.pts > this.#end + TOLERANCE;
		// A packet waits from when it came, so that several holes do not add up.
		if (hole && now < head.at + this.patience && this.#waiting.length < MAX_WAITING) return undefined;
		if (hole) this.missing++;
		this.#waiting.shift();
		this.#end = frame.pts + frame.duration;
		return frame;
	}

	/** When next may return something that it does not return now. */
	get deadline(): Millis | undefined {
		const head = this.#waiting[0];
		return head && head.at + this.patience;
	}

	/** The timeline has begun anew. */
	restart(): void {
		this.#waiting = [];
		this.#end = undefined;
	}
}
