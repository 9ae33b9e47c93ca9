import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { beforeEach, describe, expect, test } from "vitest";
import type { EncodedFrame } from "../media/frame.ts";
import { GroupSequencer } from "./groups.ts";

const FRAME = 33_333;
const PER_GROUP = 30;

let s: GroupSequencer;
beforeEach(() => {
	s = new GroupSequencer();
});

function frame(group: number, n: number, key = n === 0): EncodedFrame {
	const pts = (group * PER_GROUP + n) * FRAME;
	return { key, pts, duration: FRAME, capture: undefined, data: new Uint8Array(10), config: undefined };
}

/** Puts the frames from..to of a group in. */
function fill(group: number, from: number, to: number): void {
	for (let n = from; n < to; n++) s.push(group, frame(group, n));
}

/** Media time m is shown at m. */
const due = (pts: number) => pts / 1000;
const start = (group: number) => (group * PER_GROUP * FRAME) / 1000;

/** Takes all that can be decoded at now, as group.number. */
function take(now: number): string[] {
	const out: string[] = [];
	for (;;) {
		const q = s.next(now, due);
		if (!q) return out;
		s.take();
		out.push(`${q.group}.${Math.round(q.frame.pts / FRAME) - q.group * PER_GROUP}${q.first ? "!" : ""}`);
	}
}

test("groups come out in order, whichever came first", () => {
	expect(s.open(5)).toBe(true);
	fill(5, 0, 3);
	expect(take(0)).toEqual(["5.0!", "5.1", "5.2"]);
	s.open(7);
	fill(7, 0, 1);
	s.open(6);
	fill(6, 0, 2);
	s.close(5, true);
	expect(take(0)).toEqual(["6.0!", "6.1"]);
	s.close(6, true);
	expect(take(0)).toEqual(["7.0!"]);
	expect(s.counts).toEqual({ late: 0, skipped: 0, reset: 0, overflow: 0 });
});

test("nothing older than what was shown is taken, and no group twice", () => {
	s.open(5);
	fill(5, 0, 1);
	take(0);
	expect(s.open(4)).toBe(false);
	expect(s.open(5)).toBe(false);
	s.close(5, true);
	take(0);
	expect(s.open(5)).toBe(false);
	expect(s.open(6)).toBe(true);
});

test("a group that stands still is left when the next one is due", () => {
	s.open(5);
	fill(5, 0, 10);
	take(0);
	s.open(6);
	fill(6, 0, 1);
	expect(take(start(6) - 1)).toEqual([]);
	expect(take(start(6))).toEqual(["6.0!"]);
	expect(s.takeCancelled()).toEqual([5]);
	expect(s.takeCancelled()).toEqual([]);
	expect(s.counts.skipped).toBe(1);
});

test("a decoder that is behind skips to a group that is due", () => {
	s.open(5);
	fill(5, 0, 30);
	s.close(5, true);
	s.open(6);
	fill(6, 0, 1);
	expect(s.next(start(6) + 100, due)?.group).toBe(5);
	expect(s.next(start(6) + 251, due)?.group).toBe(6);
	expect(s.takeCancelled()).toEqual([]); // it had ended
});

test("a reset group is shown as far as it came", () => {
	s.open(5);
	fill(5, 0, 3);
	s.close(5, false);
	expect(take(0)).toEqual(["5.0!", "5.1", "5.2"]);
	s.open(6);
	fill(6, 0, 1);
	expect(take(0)).toEqual(["6.0!"]);
	expect(s.counts.reset).toBe(1);
});

test("a group without its beginning is dropped", () => {
	s.open(5);
	s.push(5, frame(5, 3));
	s.open(6);
	fill(6, 0, 1);
	expect(take(0)).toEqual(["6.0!"]);
	expect(s.takeCancelled()).toEqual([5]);
});

test("after a restart ids may be lower", () => {
	s.open(500);
	fill(500, 0, 1);
	take(0);
	s.restart();
	expect(s.takeCancelled()).toEqual([500]);
	expect(s.open(3)).toBe(true);
	fill(3, 0, 1);
	expect(take(0)).toEqual(["3.0!"]);
});

test("what waits is bounded", () => {
	for (let g = 0; g < 40; g++) {
		s.open(g);
		fill(g, 0, 1);
	}
	expect(s.waiting).toBeLessThanOrEqual(16);
	expect(s.counts.overflow).toBe(24);
	expect(s.takeCancelled()).toHaveLength(24);
	expect(take(0)[0]).toBe("24.0!");
});

describe("lateness", () => {
	/** A frame that came the shortest way is here at its media time. */
	const nominal = (pts: number) => pts / 1000;
	const at = (group: number, n: number) => ((group * PER_GROUP + n) * FRAME) / 1000;

	beforeEach(() => {
		s.open(5);
		fill(5, 0, 10);
		take(0);
	});

	test("a frame that does not come gives its group up after the limit", () => {
		expect(s.checkLate(at(5, 10), 250, nominal)).toBeUndefined();
		expect(s.checkLate(at(5, 10) + 250, 250, nominal)).toBeUndefined();
		expect(s.checkLate(at(5, 10) + 251, 250, nominal)).toBe(5);
		expect(s.takeCancelled()).toEqual([5]);
		expect(s.counts.late).toBe(1);
		expect(s.checkLate(at(5, 20), 250, nominal)).toBeUndefined();
		s.open(6);
		fill(6, 0, 1);
		expect(take(0)).toEqual(["6.0!"]);
	});

	test("whoever joins late catches up first", () => {
		s.restart();
		s.open(6);
		fill(6, 0, 1);
		expect(s.checkLate(at(6, 20), 250, nominal)).toBeUndefined();
		fill(6, 1, 20);
		expect(s.checkLate(at(6, 20), 250, nominal)).toBeUndefined();
		expect(s.checkLate(at(6, 20) + 251, 250, nominal)).toBe(6);
	});

	test("a group that is complete is never late", () => {
		expect(s.checkLate(at(5, 10), 250, nominal)).toBeUndefined();
		s.close(5, true);
		expect(s.checkLate(at(5, 10) + 5000, 250, nominal)).toBeUndefined();
	});
});

test("a group whose rest is given up for the next one is told once", () => {
	s.open(1);
	fill(1, 0, 20);
	expect(take(start(1))).toHaveLength(20);
	s.open(2);
	fill(2, 0, 1);
	s.push(1, frame(1, 20));
	// The next group is long due, and the decoder has not come to the end of this one.
	expect(s.next(start(2) + 251, due)?.group).toBe(2);
	expect(s.takeSkipped()).toEqual([1]);
	expect(s.takeSkipped()).toEqual([]);
	expect(s.counts.skipped).toBe(1);
});

test("a group may go on for hours: what was taken is not kept", () => {
	setFlagsFromString("--expose-gc");
	const gc = runInNewContext("gc") as () => void;
	const heap = () => {
		gc();
		return process.memoryUsage().heapUsed;
	};
	s.open(0);
	fill(0, 0, 100);
	take(0);
	const before = heap();
	for (let n = 100; n < 200_000; n++) {
		s.push(0, frame(0, n));
		s.next(0, due);
		s.take();
	}
	// Of each frame 100 bytes and more would be 20 MiB.
	expect((heap() - before) / 2 ** 20).toBeLessThan(5);
	s.push(0, frame(0, 200_000));
	expect(s.waiting).toBe(1);
});

test("a group that nobody takes is given up when it is too large", () => {
	s.open(0);
	const data = new Uint8Array(1 << 20);
	for (let n = 0; n <= 64; n++) s.push(0, { ...frame(0, n), data });
	expect(s.counts.overflow).toBe(1);
	expect(s.takeCancelled()).toEqual([0]);
	expect(s.waiting).toBe(0);
	s.open(1);
	fill(1, 0, 1);
	expect(take(0)).toEqual(["1.0!"]);
});
