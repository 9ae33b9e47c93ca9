import { expect, test } from "vitest";
import { LipSync, MAX_SKEW } from "./lipsync.ts";

test("pictures near to the sound, and those without sound, are shown", () => {
	const sync = new LipSync();
	for (const skew of [0, MAX_SKEW, -MAX_SKEW, undefined]) expect(sync.admits(skew, 0), `${skew}`).toBe(true);
});

test("pictures far from the sound are not", () => {
	const sync = new LipSync();
	for (const [now, skew] of [-1900, -900, -120, MAX_SKEW + 1].entries()) {
		expect(sync.admits(skew, now), `${skew}`).toBe(false);
	}
	expect(sync.admits(-60, 5)).toBe(true);
});

test("where none is in time, there is one a second", () => {
	const sync = new LipSync();
	const shown = [];
	for (let now = 0; now <= 3000; now += 100) if (sync.admits(-200, now)) shown.push(now);
	expect(shown).toEqual([1000, 2100]);
});

test("one that is in time begins the wait anew", () => {
	const sync = new LipSync();
	expect(sync.admits(-200, 0)).toBe(false);
	expect(sync.admits(-20, 900)).toBe(true);
	expect(sync.admits(-200, 1000)).toBe(false);
	expect(sync.admits(-200, 1900)).toBe(false);
	expect(sync.admits(-200, 2000)).toBe(true);
});
