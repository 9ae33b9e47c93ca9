import { Truncated, violation } from "./errors.ts";
import type { Uint } from "./uint.ts";
import { getVarint, putVarint, varintLength } from "./varint.ts";

/** Takes fields off a block of bytes. It throws Truncated at its end. */
export class Reader {
	readonly b: Uint8Array;
	at: number;

	constructor(b: Uint8Array, at = 0) {
		this.b = b;
		this.at = at;
	}

	get left(): number {
		return this.b.length - this.at;
	}

	varint(): Uint {
		const { value, end } = getVarint(this.b, this.at);
		this.at = end;
		return value;
	}

	uint8(): number {
		const x = this.b[this.at];
		if (x === undefined) throw new Truncated();
		this.at++;
		return x;
	}

	uint16(): number {
		return (this.uint8() << 8) | this.uint8();
	}

	/** Returns the next n bytes; they point into the block. */
	take(n: number): Uint8Array {
		if (this.left < n) throw new Truncated();
		const x = this.b.subarray(this.at, this.at + n);
		this.at += n;
		return x;
	}

	/** Reads a length of at most limit and as many bytes. */
	bytes(limit: number, what: string): Uint8Array {
		const n = this.varint();
		if (n > limit) throw violation(`${what} is too long`);
		return this.take(n as number);
	}

	rest(): Uint8Array {
		return this.take(this.left);
	}

	/** Fails if bytes are left. [MOQT-18] Section 10, Control Messages */
	finish(what: string): void {
		if (this.left > 0) throw violation(`${what} has bytes after its last field`);
	}
}

/** Collects bytes. */
export class Writer {
	#b = new Uint8Array(64);
	#n = 0;

	get length(): number {
		return this.#n;
	}

	/** What was written; it is valid until the next call of another method. */
	get view(): Uint8Array {
		return this.#b.subarray(0, this.#n);
	}

	/** A copy of what was written. */
	take(): Uint8Array<ArrayBuffer> {
		return this.#b.slice(0, this.#n);
	}

	#room(n: number): number {
		const at = this.#n;
		if (at + n > this.#b.length) {
			const b = new Uint8Array(Math.max(2 * this.#b.length, at + n));
			b.set(this.view);
			this.#b = b;
		}
		this.#n += n;
		return at;
	}

	varint(x: Uint): this {
		const at = this.#room(varintLength(x));
		putVarint(this.#b, at, x);
		return this;
	}

	uint8(x: number): this {
		const at = this.#room(1);
		this.#b[at] = x;
		return this;
	}

	uint16(x: number): this {
		return this.uint8(x >> 8).uint8(x & 0xff);
	}

	raw(x: Uint8Array): this {
		const at = this.#room(x.length); // before #b is looked at, which it may replace
		this.#b.set(x, at);
		return this;
	}

	/** Writes the length and the bytes. */
	bytes(x: Uint8Array): this {
		return this.varint(x.length).raw(x);
	}
}
