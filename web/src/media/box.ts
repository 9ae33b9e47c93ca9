import { MediaError } from "./frame.ts";

// Boxes of ISO/IEC 14496-12, as far as a live stream in CMAF has them.

export interface Box {
	type: string;
	/** What follows the header. */
	body: Uint8Array;
	/** Where the box and its body begin in the bytes it was found in. */
	start: number;
	bodyStart: number;
}

/** Lists the boxes that fill b. */
export function boxes(b: Uint8Array): Box[] {
	const list: Box[] = [];
	const view = viewOf(b);
	for (let at = 0; at < b.length; ) {
		if (b.length - at < 8) throw new MediaError("a box is cut short");
		let size = view.getUint32(at);
		let header = 8;
		if (size === 1) {
			if (b.length - at < 16) throw new MediaError("a box is cut short");
			size = Number(view.getBigUint64(at + 8));
			header = 16;
		}
		if (size < header || size > b.length - at) throw new MediaError(`a box of ${size} bytes does not fit`);
		const type = String.fromCharCode(...b.subarray(at + 4, at + 8));
		list.push({ type, body: b.subarray(at + header, at + size), start: at, bodyStart: at + header });
		at += size;
	}
	return list;
}

/** The first box of a type. */
export function find(list: Box[], type: string): Box | undefined {
	return list.find((x) => x.type === type);
}

/** Follows a path of types down from the boxes in b. */
export function descend(b: Uint8Array, ...path: string[]): Box {
	let body = b;
	let box: Box | undefined;
	for (const type of path) {
		box = find(boxes(body), type);
		if (!box) throw new MediaError(`there is no ${type} box`);
		body = box.body;
	}
	return box as Box;
}

export function viewOf(b: Uint8Array): DataView {
	return new DataView(b.buffer, b.byteOffset, b.byteLength);
}

/** Reads fields off a box; it throws a MediaError at its end. */
export class Fields {
	readonly #view: DataView;
	at = 0;

	constructor(b: Uint8Array) {
		this.#view = viewOf(b);
	}

	#take(n: number): number {
		const at = this.at;
		if (at + n > this.#view.byteLength) throw new MediaError("a box ends within a field");
		this.at += n;
		return at;
	}

	skip(n: number): this {
		this.#take(n);
		return this;
	}

	u8 = (): number => this.#view.getUint8(this.#take(1));
	u16 = (): number => this.#view.getUint16(this.#take(2));
	u32 = (): number => this.#view.getUint32(this.#take(4));
	i32 = (): number => this.#view.getInt32(this.#take(4));
	u64 = (): number => Number(this.#view.getBigUint64(this.#take(8)));
	i64 = (): number => Number(this.#view.getBigInt64(this.#take(8)));

	/** Version and flags of a full box. */
	full(): { version: number; flags: number } {
		const x = this.u32();
		return { version: x >>> 24, flags: x & 0xffffff };
	}
}
