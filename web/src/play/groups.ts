import type { EncodedFrame, Micros, Millis } from "../media/frame.ts";

/** How many groups may wait, and how many bytes; above it the oldest go. */
const MAX_GROUPS = 16;
const MAX_BYTES = 64 << 20;
/** How far the decoder may be behind before the rest of a group is given up for the next one. */
const MAX_BEHIND: Millis = 250;

interface Group {
	id: number;
	/** Those that wait. */
	frames: EncodedFrame[];
	/** How many have gone to the decoder; a group may go on for as long as its publisher likes. */
	taken: number;
	bytes: number;
	/** No more will come. */
	ended: boolean;
	lastPts: Micros | undefined;
}

export interface QueuedFrame {
	group: number;
	/** The first one of its group that is decoded. */
	first: boolean;
	frame: EncodedFrame;
}

/** Why a group was not shown to its end. */
export type Dropped = "late" | "skipped" | "reset" | "overflow";

/**
 * Puts the groups of one video track in order and says what to decode next. Streams of several groups may come at
 * once, and any of them may end early.
 */
export class GroupSequencer {
	#groups: Group[] = []; // in order of id
	#current: number | undefined;
	#cancelled: number[] = [];
	#skipped: number[] = [];
	#frameDuration: Micros = 0;
	#lastFramePts: Micros | undefined;
	/** Whether the track has been in time since it was joined; before that it catches up. */
	#caughtUp = false;
	readonly counts: Record<Dropped, number> = { late: 0, skipped: 0, reset: 0, overflow: 0 };

	/** A group's stream has begun. If it returns false, nobody needs the group. */
	open(id: number): boolean {
		if (this.#current !== undefined && id <= this.#current) return false;
		if (this.#groups.some((g) => g.id === id)) return false;
		const group: Group = { id, frames: [], taken: 0, bytes: 0, ended: false, lastPts: undefined };
		this.#groups.push(group);
		this.#groups.sort((a, b) => a.id - b.id);
		this.#bound();
		return true;
	}

	push(id: number, frame: EncodedFrame): void {
		const g = this.#find(id);
		if (!g || g.ended) return;
		g.frames.push(frame);
		g.bytes += frame.data.length;
		if (g.lastPts !== undefined && frame.pts > g.lastPts) {
			const d = frame.pts - g.lastPts;
			this.#frameDuration = this.#frameDuration === 0 ? d : Math.min(this.#frameDuration * 1.1, d);
		}
		g.lastPts = Math.max(g.lastPts ?? frame.pts, frame.pts);
		this.#bound();
	}

	/** A group's stream has ended: completely, or by a reset. */
	close(id: number, complete: boolean): void {
		const g = this.#find(id);
		if (!g || g.ended) return;
		g.ended = true;
		if (!complete) this.counts.reset++;
	}

	/** Everything is forgotten, as when a track is joined anew; numbering may begin at less. */
	restart(): void {
		for (const g of this.#groups) if (!g.ended) this.#cancelled.push(g.id);
		this.#groups = [];
		this.#skipped = [];
		this.#current = undefined;
		this.#lastFramePts = undefined;
		this.#caughtUp = false;
	}

	/** The next frame to decode. due tells when a media time is shown. */
	next(now: Millis, due: (pts: Micros) => Millis): QueuedFrame | undefined {
		this.#skip(now, due);
		const g = this.#groups[0];
		if (!g) return undefined;
		const [frame] = g.frames;
		if (!frame) return undefined;
		if (g.taken === 0 && !frame.key) {
			// The beginning is missing, so none of it can be decoded.
			this.#give(g, "reset");
			return this.next(now, due);
		}
		return { group: g.id, first: g.taken === 0, frame };
	}

	/** Takes the frame that next has returned. */
	take(): void {
		const g = this.#groups[0];
		const frame = g?.frames.shift();
		if (!g || !frame) return;
		this.#current = g.id;
		this.#lastFramePts = frame.pts;
		g.bytes -= frame.data.length;
		g.taken++;
	}

	/** Moves on to a later group when the rest of this one has come, or is not worth waiting for. */
	#skip(now: Millis, due: (pts: Micros) => Millis): void {
		for (;;) {
			const [g, next] = this.#groups;
			if (!g) return;
			const done = g.frames.length === 0;
			if (done && g.ended && (next || g.taken > 0)) {
				// Its id stays the current one, so that nothing older is taken.
				this.#current = Math.max(this.#current ?? 0, g.id);
				this.#groups.shift();
				continue;
			}
			const start = next?.frames[0];
			if (!next || !start) return;
			const wait = done ? 0 : MAX_BEHIND;
			if (now < due(start.pts) + wait) return;
			this.#give(g, "skipped");
		}
	}

	/**
	 * Gives up the group that comes in now if its next frame is later than limit. nominal tells when a media time would
	 * be here that came the shortest way. It returns the group's id if so.
	 */
	checkLate(now: Millis, limit: Millis, nominal: (pts: Micros) => Millis): number | undefined {
		const g = this.#groups[0];
		if (!g || g.ended) return undefined;
		const last = g.lastPts ?? this.#lastFramePts;
		if (last === undefined) return undefined;
		const late = now - nominal(last + this.#frameDuration);
		if (!this.#caughtUp) {
			this.#caughtUp = late < limit / 2;
			return undefined;
		}
		if (late <= limit) return undefined;
		this.#give(g, "late");
		return g.id;
	}

	/** The streams to cancel, by group. Each is returned once. */
	takeCancelled(): number[] {
		return this.#cancelled.splice(0);
	}

	/** The groups of which the rest was given up for a later one. Each is returned once. */
	takeSkipped(): number[] {
		return this.#skipped.splice(0);
	}

	/** How many frames wait. */
	get waiting(): number {
		return this.#groups.reduce((n, g) => n + g.frames.length, 0);
	}

	get newest(): number | undefined {
		return this.#groups.at(-1)?.id ?? this.#current;
	}

	#find(id: number): Group | undefined {
		return this.#groups.find((g) => g.id === id);
	}

	#give(g: Group, why: Dropped): void {
		this.counts[why]++;
		if (why === "skipped") this.#skipped.push(g.id);
		if (!g.ended) this.#cancelled.push(g.id);
		this.#current = Math.max(this.#current ?? 0, g.id);
		this.#groups.splice(this.#groups.indexOf(g), 1);
	}

	#bound(): void {
		const bytes = () => this.#groups.reduce((n, g) => n + g.bytes, 0);
		while (this.#groups.length > MAX_GROUPS || bytes() > MAX_BYTES) {
			this.#give(this.#groups[0] as Group, "overflow");
		}
	}
}
