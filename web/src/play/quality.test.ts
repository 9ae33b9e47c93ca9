import { expect, test } from "vitest";
import { QualityControl } from "./quality.ts";

test("one rendition leaves nothing to choose", () => {
	const q = new QualityControl(1);
	expect(q.level).toBe(0);
	expect(q.group(true, 0)).toBe(false);
	expect(q.advance(1e6)).toBe(false);
});

test("it starts with the best", () => expect(new QualityControl(3).level).toBe(2));

test("a single late group changes nothing", () => {
	const q = new QualityControl(2);
	for (let i = 0; i < 100; i++) expect(q.group(i % 10 === 0, i * 1000)).toBe(false);
	expect(q.level).toBe(1);
});

test("two late groups among five step down, and it is tried again after a while", () => {
	const q = new QualityControl(2);
	q.group(true, 0);
	q.group(false, 1000);
	expect(q.group(true, 2000)).toBe(true);
	expect(q.level).toBe(0);
	expect(q.advance(9_999)).toBe(false);
	expect(q.advance(10_000)).toBe(true);
	expect(q.level).toBe(1);
});

test("each failure doubles the wait, up to a bound, and success makes it short again", () => {
	const q = new QualityControl(2);
	let now = 0;
	const waits: number[] = [];
	const fail = () => {
		q.group(true, now);
		q.group(true, now);
		const from = now;
		while (!q.advance(now)) now += 1000;
		waits.push((now - from) / 1000);
	};
	for (let i = 0; i < 5; i++) fail();
	expect(waits).toEqual([8, 16, 32, 64, 64]);
	for (let i = 0; i < 20; i++) q.group(false, now);
	fail();
	expect(waits.at(-1)).toBe(8);
});

test("up goes one step at a time", () => {
	const q = new QualityControl(3);
	for (let i = 0; i < 4; i++) q.group(true, 0);
	expect(q.level).toBe(0);
	expect(q.advance(20_000)).toBe(true);
	expect(q.level).toBe(1);
	expect(q.advance(20_001)).toBe(false);
	expect(q.advance(28_000)).toBe(true);
	expect(q.level).toBe(2);
});
