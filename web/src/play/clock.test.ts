import { describe, expect, test } from "vitest";
import { MAX_LEAD, PlayoutClock, type Target } from "./clock.ts";

/** Numbers from 0 to 1 that are the same every time. */
function random(seed: number): () => number {
	let x = seed;
	return () => {
		x = (x * 1664525 + 1013904223) >>> 0;
		return x / 2 ** 32;
	};
}

/** A publisher whose media time begins at an odd moment, and a path to here. */
class Feed {
	readonly clock: PlayoutClock;
	now = 1000;
	/** Media time at now, in microseconds. */
	pts = 7e12;
	/** Delay of a frame in milliseconds. */
	path: (now: number) => number = () => 30;
	late = { video: 0, audio: 0 };
	frames = { video: 0, audio: 0 };
	#due: { at: number; pts: number; kind: "video" | "audio" }[] = [];
	#next = { video: 0, audio: 0 };

	constructor(target: Target) {
		this.clock = new PlayoutClock(target);
	}

	/** Lets time pass, a millisecond at a time. */
	run(ms: number, kinds: ("video" | "audio")[] = ["video", "audio"]): void {
		for (const end = this.now + ms; this.now < end; this.now++, this.pts += 1000) {
			for (const kind of kinds) {
				if (this.now < this.#next[kind]) continue;
				this.#next[kind] = this.now + (kind === "video" ? 33 : 20);
				this.#due.push({ at: this.now + this.path(this.now), pts: this.pts, kind });
			}
			for (const f of this.#due.filter((d) => d.at <= this.now)) this.#arrive(f.pts, f.kind);
			this.#due = this.#due.filter((d) => d.at > this.now);
			if (this.now % 20 === 0) this.clock.advance(this.now);
		}
	}

	#arrive(pts: number, kind: "video" | "audio"): void {
		this.clock.arrived(kind, kind, pts, this.now);
		this.frames[kind]++;
		const due = kind === "video" ? this.clock.videoOffset : this.clock.audioOffset;
		if (due !== undefined && this.now > pts / 1000 + due) this.late[kind]++;
	}

	/** How far what is shown now lies back. */
	get delay(): number {
		return (this.clock.videoOffset ?? Number.NaN) - (this.now - this.pts / 1000);
	}
}

test.each([20, 100, 500, 2000])("a target of %i ms is kept", (target) => {
	const f = new Feed(target);
	f.run(3000);
	expect(f.clock.buffer).toBeCloseTo(target, 0);
	expect(f.delay).toBeCloseTo(30 + target, 0);
});

test("a target out of range is brought into it", () => {
	const clock = new PlayoutClock();
	clock.target = 3;
	expect(clock.target).toBe(20);
	clock.target = 1e6;
	expect(clock.target).toBe(2000);
});

describe("the automatic target", () => {
	test.each([1, 2, 3])("covers the jitter there is and no more, seed %i", (seed) => {
		const f = new Feed("auto");
		const r = random(seed);
		f.path = () => 30 + 60 * r();
		f.run(15_000);
		f.late.video = f.frames.video = 0;
		f.run(10_000);
		expect(f.late.video / f.frames.video).toBeLessThan(0.03);
		expect(f.clock.buffer).toBeGreaterThan(50);
		expect(f.clock.buffer).toBeLessThan(85);
	});

	test("is short on a good path", () => {
		const f = new Feed("auto");
		f.run(8000);
		expect(f.clock.buffer).toBeLessThan(21);
	});

	test("grows at once and shrinks again", () => {
		const f = new Feed("auto");
		f.run(3000);
		const r = random(4);
		f.path = () => 30 + 200 * r();
		f.run(3000);
		expect(f.clock.buffer).toBeGreaterThan(150);
		f.path = () => 30;
		f.run(30_000);
		expect(f.clock.buffer).toBeLessThan(30);
	});
});

test("who joins in the middle of a group is not behind for it", () => {
	const f = new Feed(50);
	// The beginning of the group comes at once, up to the present.
	for (let back = 900; back > 0; back -= 33) f.clock.arrived("video", "video", f.pts - back * 1000, f.now);
	f.run(2000, ["video"]);
	expect(f.delay).toBeCloseTo(80, 0);
});

test("a standstill of the path changes nothing that lasts", () => {
	const f = new Feed(60);
	f.run(3000);
	const from = f.now;
	f.path = (now) => (now < from + 1500 ? from + 1500 - now + 30 : 30);
	f.run(1600);
	f.path = () => 30;
	f.run(1000);
	expect(f.delay).toBeCloseTo(90, 0);
});

test("a path that has become longer is noticed within two seconds", () => {
	const f = new Feed(60);
	f.run(3000);
	f.path = () => 300;
	f.run(2000);
	expect(f.delay).toBeGreaterThan(340);
	f.late.audio = 0;
	f.run(2000);
	expect(f.late.audio).toBe(0);
});

test("a path that has become shorter is used within the window", () => {
	const f = new Feed(60);
	f.path = () => 300;
	f.run(3000);
	f.path = () => 30;
	f.run(30_000);
	expect(f.delay).toBeCloseTo(90, 0);
});

test("offsets never jump down by less than what one would skip for", () => {
	const f = new Feed(300);
	f.run(2000);
	f.clock.target = 100;
	const before = f.clock.videoOffset as number;
	f.run(1000);
	const moved = before - (f.clock.videoOffset as number);
	expect(moved).toBeGreaterThan(5);
	expect(moved).toBeLessThan(20);
});

test("what is too much by more than a moment's worth is not kept for long", () => {
	const f = new Feed(300);
	f.run(2000);
	f.clock.target = 100;
	f.run(2500);
	expect(f.clock.buffer).toBeCloseTo(100, 0);
});

describe("sound", () => {
	test("waits for its output, and the picture leads by no more than allowed", () => {
		const f = new Feed(20);
		f.clock.outputLatency = 42;
		f.run(3000);
		const lag = (f.clock.audioOffset as number) - (f.clock.videoOffset as number);
		expect(lag).toBeGreaterThan(30);
		expect(lag).toBeLessThanOrEqual(MAX_LEAD);
		expect(f.delay).toBeLessThanOrEqual(55);
	});

	test("is in step with the picture when there is time", () => {
		const f = new Feed(150);
		f.clock.outputLatency = 42;
		f.run(3000);
		expect(f.clock.audioOffset).toBe(f.clock.videoOffset);
	});

	test("an output that takes long delays the picture too", () => {
		const f = new Feed(20);
		f.clock.outputLatency = 250;
		f.run(3000);
		const lag = (f.clock.audioOffset as number) - (f.clock.videoOffset as number);
		expect(lag).toBeLessThanOrEqual(MAX_LEAD);
		expect(f.delay).toBeGreaterThan(250);
	});
});

test("another timeline is followed after a few frames", () => {
	const f = new Feed(100);
	f.run(2000);
	f.pts = 5e9;
	f.run(1000);
	expect(f.delay).toBeCloseTo(130, 0);
});

test("a single wrong time stamp is not another timeline", () => {
	const f = new Feed(100);
	f.run(2000);
	expect(f.clock.arrived("video", "video", f.pts + 60e6, f.now)).toBe(false);
	f.run(500);
	expect(f.delay).toBeCloseTo(130, 0);
});

test("sound that lags far behind does not hold up the picture, and sound that is a second late does", () => {
	const run = (lag: number) => {
		const clock = new PlayoutClock(100);
		for (let now = 0; now < 6000; now += 20) {
			clock.arrived("video", "video", now * 1000, now + 30);
			if (now >= lag) clock.arrived("audio", "audio", (now - lag) * 1000, now + 30);
			clock.advance(now + 30);
		}
		return clock.videoOffset;
	};
	expect(run(3500)).toBeCloseTo(130, -1);
	expect(run(1000)).toBeGreaterThan(1000);
});

test("sound of which a part is far too late does not hold up the picture without bound", () => {
	const clock = new PlayoutClock("auto");
	clock.outputLatency = 40;
	for (let now = 0; now < 12_000; now += 20) {
		clock.arrived("video", "video", now * 1000, now + 30);
		clock.arrived("audio", "audio", now * 1000, now + 30);
		if (now > 4500 && now % 200 === 0) clock.arrived("audio", "audio", (now - 4500) * 1000, now + 30);
		clock.advance(now + 30);
	}
	expect(clock.videoOffset).toBeLessThan(30 + 2000 + 100);
});
