import { InvalidValue, Truncated } from "./errors.ts";
import { MAX_UINT64, normal, type Uint } from "./uint.ts";

// The number of leading 1 bits of the first byte is the number of bytes that follow it.
// [MOQT-18] Section 1.4.1, Variable-Length Integers

/** Largest value of each length from 1 to 7 bytes; of 8 it is above what a number holds exactly. */
const LIMITS = [2 ** 7, 2 ** 14, 2 ** 21, 2 ** 28, 2 ** 35, 2 ** 42, 2 ** 49];

/** Returns in how many bytes appendVarint writes x, 1 to 9. */
export function varintLength(x: Uint): number {
	if (typeof x === "bigint") return x < 2n ** 56n ? 8 : 9;
	for (let i = 0; i < LIMITS.length; i++) if (x < (LIMITS[i] as number)) return i + 1;
	return 8;
}

/** Writes x in the fewest bytes at b[at] and returns the place after it. b has to be long enough. */
export function putVarint(b: Uint8Array, at: number, x: Uint): number {
	if (x < 0 || x > MAX_UINT64 || (typeof x === "number" && !Number.isSafeInteger(x))) {
		throw new InvalidValue(`integer ${x}`);
	}
	const n = varintLength(x);
	if (n === 9) {
		b[at] = 0xff;
		new DataView(b.buffer, b.byteOffset + at + 1, 8).setBigUint64(0, BigInt(x));
		return at + 9;
	}
	if (n >= 5) {
		let v = BigInt(x);
		for (let i = n - 1; i > 0; i--, v >>= 8n) b[at + i] = Number(v & 0xffn);
		b[at] = ((0xff << (9 - n)) & 0xff) | Number(v);
		return at + n;
	}
	let v = Number(x);
	for (let i = n - 1; i > 0; i--, v >>>= 8) b[at + i] = v & 0xff;
	b[at] = ((0xff << (9 - n)) & 0xff) | v;
	return at + n;
}

/** How long the integer is that begins with this byte. */
export function varintLengthOf(first: number): number {
	return Math.clz32(~(first << 24)) + 1;
}

/** Reads the integer at b[at]. Every encoding is accepted, the shortest or not. */
export function getVarint(b: Uint8Array, at: number): { value: Uint; end: number } {
	const first = b[at];
	if (first === undefined) throw new Truncated();
	if (first < 0x80) return { value: first, end: at + 1 };
	const n = Math.min(varintLengthOf(first), 9);
	const end = at + n;
	if (end > b.length) throw new Truncated();
	const head = n >= 8 ? 0 : first & (0xff >> n);
	if (n <= 7) {
		let v = head;
		for (let i = at + 1; i < end; i++) v = v * 256 + (b[i] as number);
		return { value: v, end };
	}
	let v = 0n;
	for (let i = at + 1; i < end; i++) v = (v << 8n) | BigInt(b[i] as number);
	return { value: normal(v), end };
}
