import { expect, test } from "vitest";
import type { SoundStatus, ToSound } from "./messages.ts";
import { ReportLog } from "./reporter.ts";
import { SoundLink } from "./sound-link.ts";
import { forgetOldest, Rate, Samples } from "./stats.ts";
import { WallClock } from "./wallclock.ts";

test("a rate keeps what is of the last second, also when nobody asks for it", () => {
	const rate = new Rate();
	for (let now = 0; now < 100_000; now += 10) rate.add(1, now);
	expect(rate.size).toBe(100);
	expect(rate.perSecond(99_990)).toBe(100);
	expect(rate.perSecond(200_000)).toBe(0);
});

test("samples that nobody sums up are left out", () => {
	const samples = new Samples();
	for (let i = 0; i < 10_000; i++) samples.add(i);
	expect(samples.take()).toMatchObject({ count: 2000, max: 1999 });
	expect(samples.take()).toBeUndefined();
});

test("the first of a map go", () => {
	const map = new Map([1, 2, 3, 4].map((k) => [k, ""]));
	forgetOldest(map, 2);
	expect([...map.keys()]).toEqual([3, 4]);
});

test("tracks whose names change all the time are forgotten, and counted anew", () => {
	const log = new ReportLog(0);
	const counts = { kind: "video", priority: 6, cancelled: 1, dropped: 0 } as const;
	log.counts("first", counts);
	log.take(1000);
	log.counts("first", counts);
	expect(log.take(2000), "nothing has happened since").toEqual(sameReport(0));
	for (let i = 0; i < 300; i++) log.counts(`${i}`, counts);
	log.take(3000);
	log.counts("first", counts);
	expect(log.take(4000)).toEqual(sameReport(1));
});

/** A report of a second in which so many groups were cancelled. */
function sameReport(cancelled: number): Uint8Array | undefined {
	const log = new ReportLog(0);
	log.counts("x", { kind: "video", priority: 6, cancelled, dropped: 0 });
	return log.take(1000);
}

test("an audio thread that does not run gets some seconds of sound, and the rest when it is back", () => {
	const sent: ToSound[] = [];
	const port = { postMessage: (m: ToSound) => sent.push(m) } as unknown as MessagePort;
	const link = new SoundLink(port, new WallClock());
	const block = () => link.send(0, [new Float32Array(960)]);
	for (let i = 0; i < 1000; i++) block();
	expect(sent).toHaveLength(400);
	expect(link.dropped).toBe(600);
	const status: SoundStatus = { context: 0, pts: undefined, ahead: 0, missing: 0, late: 0, jumps: 0 };
	port.onmessage?.({ data: status } as MessageEvent);
	block();
	expect(sent).toHaveLength(401);
});
