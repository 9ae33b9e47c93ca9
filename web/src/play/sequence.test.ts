import { beforeEach, expect, test } from "vitest";
import { AudioSequencer } from "./sequence.ts";

const FRAME = 20_000;

let s: AudioSequencer;
beforeEach(() => {
	s = new AudioSequencer();
	s.patience = 30;
});

function push(now: number, ...numbers: number[]): void {
	for (const n of numbers) {
		const data = new Uint8Array(1);
		s.push({ key: true, pts: n * FRAME, duration: FRAME, capture: undefined, data, config: undefined }, now);
	}
}

function take(now: number): number[] {
	const out: number[] = [];
	for (let f = s.next(now); f; f = s.next(now)) out.push(f.pts / FRAME);
	return out;
}

test("packets in order pass at once", () => {
	push(0, 1, 2);
	expect(take(0)).toEqual([1, 2]);
	push(20, 3);
	expect(take(20)).toEqual([3]);
	expect(s.deadline).toBeUndefined();
});

test("packets that changed places are put right", () => {
	push(0, 1);
	take(0);
	push(20, 3);
	expect(take(20)).toEqual([]);
	push(25, 2);
	expect(take(25)).toEqual([2, 3]);
	expect([s.late, s.missing]).toEqual([0, 0]);
});

test("a lost packet is waited for only so long", () => {
	push(0, 1);
	take(0);
	push(20, 3);
	push(40, 4);
	expect(s.deadline).toBe(50);
	expect(take(49)).toEqual([]);
	expect(take(50)).toEqual([3, 4]);
	push(55, 2);
	expect(take(55)).toEqual([]);
	expect([s.late, s.missing]).toEqual([1, 1]);
});

test("a packet that comes twice is taken once", () => {
	push(0, 1);
	take(0);
	push(20, 3, 3);
	push(21, 1);
	push(22, 2);
	expect(take(22)).toEqual([2, 3]);
	expect(s.late).toBe(2);
});

test("what waits is bounded", () => {
	push(0, 1);
	take(0);
	push(1, ...Array.from({ length: 60 }, (_, i) => i + 3));
	expect(take(1)).toHaveLength(60);
});

test("after a restart earlier times are taken", () => {
	push(0, 1000);
	take(0);
	s.restart();
	push(20, 1);
	expect(take(20)).toEqual([1]);
});

test("a duration that is a little off is no hole", () => {
	const data = new Uint8Array(1);
	const packet = (pts: number) => ({ key: true, pts, duration: 21_333, capture: undefined, data, config: undefined });
	s.push(packet(0), 0);
	s.push(packet(21_334), 0);
	s.push(packet(42_666), 0);
	expect(take(0)).toHaveLength(3);
});
