import { beforeEach, expect, test } from "vitest";
import { MAX_PICTURES, Picker, type Picture } from "./picker.ts";

const FRAME = 33_000;

interface P extends Picture {
	name: string;
}

let picker: Picker<P>;
let open: Set<string>;
beforeEach(() => {
	picker = new Picker();
	open = new Set();
});

/** Adds picture n of a rendition; groups have ten. */
function add(which: "small" | "better", ...numbers: number[]): void {
	for (const n of numbers) {
		const name = `${which[0]}${n}`;
		open.add(name);
		picker.add(which, {
			name,
			pts: n * FRAME,
			group: Math.floor(n / 10),
			close: () => expect(open.delete(name)).toBe(true),
		});
	}
}

/** What is shown at the time of picture n. */
function pick(n: number): string | undefined {
	const p = picker.pick(n * FRAME);
	p?.close();
	return p?.name;
}

test("each picture is shown once, when it is due", () => {
	add("small", 0, 1, 2);
	expect(pick(-1)).toBeUndefined();
	expect(pick(0)).toBe("s0");
	expect(pick(0)).toBeUndefined();
	expect(pick(2)).toBe("s2"); // 1 was passed over
	expect(open.size).toBe(0);
});

test("the better rendition is shown while it keeps up", () => {
	for (let n = 0; n < 20; n++) {
		add("small", n);
		add("better", n);
		expect(pick(n)).toBe(`b${n}`);
	}
	expect(open.size).toBe(0);
});

test("a better picture that is a little late is waited for", () => {
	add("small", 0, 1);
	add("better", 0);
	expect(pick(0)).toBe("b0");
	expect(pick(1)).toBeUndefined();
	add("better", 1);
	expect(pick(1)).toBe("b1");
});

test("a better rendition that stands still gives way until its next group", () => {
	add("small", 0, 1, 2, 3);
	add("better", 0);
	pick(0);
	expect(pick(2)).toBeUndefined();
	expect(pick(3)).toBe("s3");
	add("small", 4);
	add("better", 1, 2, 3, 4); // it has come after all, but this group stays with the smaller one
	expect(pick(4)).toBe("s4");
	add("small", 10);
	add("better", 10);
	expect(pick(10)).toBe("b10");
});

test("a group that was given up is not shown", () => {
	add("better", 0);
	add("small", 0);
	pick(0);
	add("better", 1, 2);
	picker.block(0);
	add("small", 3);
	expect(pick(3)).toBe("s3");
	add("small", 10);
	add("better", 10);
	expect(pick(10)).toBe("b10");
	expect(open.size).toBe(0);
});

test("time does not go back when the rendition changes", () => {
	add("small", 5);
	expect(pick(5)).toBe("s5");
	add("better", 3, 4);
	expect(pick(5)).toBeUndefined();
	add("better", 6);
	expect(pick(6)).toBe("b6");
});

test("what waits is bounded, and closed", () => {
	add("better", ...Array.from({ length: 50 }, (_, n) => n));
	expect(open.size).toBe(MAX_PICTURES);
	expect(picker.waiting("better")).toBe(MAX_PICTURES);
	picker.clear();
	expect(open.size).toBe(0);
});

test("after a restart earlier times are shown", () => {
	add("small", 1000);
	pick(1000);
	add("small", 1);
	expect(pick(1)).toBeUndefined();
	picker.restart();
	add("small", 2);
	expect(pick(2)).toBe("s2");
});
