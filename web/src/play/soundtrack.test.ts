import { beforeEach, describe, expect, test } from "vitest";
import { resample } from "./resample.ts";
import { Soundtrack } from "./soundtrack.ts";

const RATE = 48_000;
const BLOCK = 128;
const BLOCK_MICROS = (BLOCK / RATE) * 1e6;
const PACKET = 960;
const ORIGIN = 1.795e15;

let t: Soundtrack;
beforeEach(() => {
	t = new Soundtrack(RATE, 1);
});

/** Writes packets whose samples are their own place in the signal, divided so that they stay small. */
const value = (sample: number) => ((sample % 4800) + 1) / 4800;
function write(...packets: number[]): void {
	for (const n of packets) {
		const plane = Float32Array.from({ length: PACKET }, (_, i) => value(n * PACKET + i));
		t.write(ORIGIN + n * 20_000, [plane]);
	}
}

let want = 0;
/** Reads blocks from a media time on, each where the one before ended; off is what the clock is off by. */
function read(blocks: number, off: (i: number) => number = () => 0): { samples: number[]; errors: number[] } {
	const samples: number[] = [];
	const errors: number[] = [];
	for (let i = 0; i < blocks; i++, want += BLOCK_MICROS) {
		const plane = new Float32Array(BLOCK);
		const at = t.read([plane], ORIGIN + want + off(i));
		samples.push(...plane);
		errors.push((at ?? Number.NaN) - (ORIGIN + want + off(i)));
	}
	return { samples, errors };
}
beforeEach(() => {
	want = 0;
});

test("before anything is written there is silence", () => {
	expect(read(1).samples.every((x) => x === 0)).toBe(true);
	expect(t.missing).toBe(0);
});

test("what is written comes out where it belongs, sample for sample", () => {
	write(0, 1, 2);
	const { samples } = read(7);
	for (const [i, x] of samples.slice(200).entries()) expect(x).toBeCloseTo(value(200 + i), 5);
	expect(t.missing).toBe(0);
	expect(t.jumps).toBe(0);
});

test("sound that comes in another order is the same", () => {
	write(0, 2, 1);
	const { samples } = read(20);
	for (const [i, x] of samples.slice(200).entries()) expect(x).toBeCloseTo(value(200 + i), 5);
});

test("time stamps that are rounded make no holes", () => {
	for (let n = 0; n < 50; n++) {
		t.write(Math.round(ORIGIN + (n * 1024 * 1e6) / RATE), [new Float32Array(1024).fill(0.5)]);
	}
	const { samples } = read(300);
	expect(t.missing).toBe(0);
	expect(samples.slice(200).every((x) => Math.abs(x - 0.5) < 1e-6)).toBe(true);
});

test("a hole is silent, without a click at its borders, and time goes on", () => {
	write(0, 2);
	const { samples } = read(20);
	expect(t.missing).toBe(PACKET);
	const middle = samples.slice(PACKET + 200, 2 * PACKET);
	expect(middle.every((x) => x === 0)).toBe(true);
	expect(samples[2 * PACKET + 300]).toBeCloseTo(value(2 * PACKET + 300), 5);
	for (let i = PACKET - 10; i < 2 * PACKET + 200; i++) {
		expect(Math.abs((samples[i] as number) - (samples[i - 1] as number)), `sample ${i}`).toBeLessThan(0.03);
	}
});

test("sound that comes too late is counted and left out", () => {
	write(0);
	read(10); // past the packet's end
	write(1);
	expect(t.late).toBe(10 * BLOCK - PACKET);
	expect(read(1).samples[127]).toBeCloseTo(value(11 * BLOCK - 1), 5);
});

describe("a clock that is off", () => {
	beforeEach(() => write(...Array.from({ length: 150 }, (_, i) => i)));

	test.each([-15_000, 15_000])("by %i µs is met without a jump", (by) => {
		const { errors } = read(700, (i) => (i < 10 ? 0 : by));
		expect(t.jumps).toBe(0);
		expect(Math.abs(errors.at(-1) as number)).toBeLessThan(5000);
		expect(t.missing).toBe(0);
	});

	test("by much is met at once", () => {
		const { errors } = read(40, (i) => (i < 10 ? 0 : 500_000));
		expect(t.jumps).toBe(1);
		expect(Math.abs(errors.at(-1) as number)).toBeLessThan(100);
	});

	test("by a little is left alone", () => {
		read(500, () => 1500);
		expect(t.jumps).toBe(0);
	});
});

test("it tells how much lies ahead", () => {
	write(0, 1, 2, 4);
	read(1);
	expect(t.ahead).toBeCloseTo(60_000 - BLOCK_MICROS, 0);
	read(30);
	expect(t.ahead).toBeLessThan(20_001);
});

test("no more is held than there is room for", () => {
	write(0);
	read(1);
	write(...Array.from({ length: 300 }, (_, i) => i + 1));
	expect(t.ahead).toBeLessThanOrEqual(4_000_000);
	const { samples } = read(50);
	for (const [i, x] of samples.entries()) expect(x).toBeCloseTo(value(BLOCK + i), 5);
});

test("another timeline is taken up when the old one has run dry", () => {
	write(0);
	read(20);
	t.write(5e9, [new Float32Array(PACKET).fill(0.25)]);
	const plane = new Float32Array(BLOCK);
	t.read([plane], 5e9 + 5000);
	t.read([plane], 5e9 + 5000 + BLOCK_MICROS);
	expect(plane[BLOCK - 1]).toBeCloseTo(0.25, 5);
});

test("a second channel that is missing is that of the first", () => {
	const stereo = new Soundtrack(RATE, 2);
	stereo.write(ORIGIN, [new Float32Array(PACKET).fill(0.5)]);
	const planes = [new Float32Array(BLOCK), new Float32Array(BLOCK)];
	stereo.read(planes, ORIGIN);
	expect(planes[1]).toEqual(planes[0]);
	expect(planes[1]?.[BLOCK - 1]).toBeCloseTo(0.5, 5);
});

test("resampling keeps the signal", () => {
	const sine = (rate: number) =>
		Float32Array.from({ length: rate / 50 }, (_, i) => Math.sin((2 * Math.PI * 200 * i) / rate));
	const out = resample(sine(44_100), 44_100, 48_000);
	expect(out).toHaveLength(960);
	const want = sine(48_000);
	for (let i = 0; i < 950; i++) expect(out[i]).toBeCloseTo(want[i] as number, 2);
	expect(resample(want, 48_000, 48_000)).toBe(want);
});
