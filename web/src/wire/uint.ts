/**
 * An unsigned integer of up to 64 bits. Those up to 2^53-1 are always a number and larger ones always a bigint,
 * so that === and < do what one expects.
 */
export type Uint = number | bigint;

export const MAX_UINT64 = 2n ** 64n - 1n;

/** Brings a bigint into the form that Uint asks for. */
export function normal(x: bigint): Uint {
	return x <= BigInt(Number.MAX_SAFE_INTEGER) ? Number(x) : x;
}

/** Returns the sum, which may be above 2^64-1. */
export function add(a: Uint, b: Uint): Uint {
	if (typeof a === "number" && typeof b === "number") {
		const sum = a + b;
		if (sum <= Number.MAX_SAFE_INTEGER) return sum;
	}
	return normal(BigInt(a) + BigInt(b));
}

/** Returns a - b; a must not be below b. */
export function sub(a: Uint, b: Uint): Uint {
	return typeof a === "number" && typeof b === "number" ? a - b : normal(BigInt(a) - BigInt(b));
}
