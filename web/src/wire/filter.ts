import { Reader, Writer } from "./bytes.ts";
import { complete, InvalidValue, violation } from "./errors.ts";
import { type Location, readLocation, writeLocation } from "./location.ts";
import { add, MAX_UINT64, sub, type Uint } from "./uint.ts";

/** Which objects of a track a subscriber wants. [MOQT-18] Section 5.1.2, Subscription Filters */
export type Filter =
	| { type: "NextGroupStart" }
	| { type: "LargestObject" }
	| { type: "AbsoluteStart"; start: Location }
	/** endGroup is the last group wanted. */
	| { type: "AbsoluteRange"; start: Location; endGroup: Uint };

const TYPES: readonly Filter["type"][] = ["NextGroupStart", "LargestObject", "AbsoluteStart", "AbsoluteRange"];

export function encodeFilter(f: Filter): Uint8Array {
	const w = new Writer().varint(TYPES.indexOf(f.type) + 1);
	if (f.type === "AbsoluteStart" || f.type === "AbsoluteRange") writeLocation(w, f.start);
	if (f.type === "AbsoluteRange") {
		if (f.endGroup < f.start.group) throw new InvalidValue("filter ends before it starts");
		w.varint(sub(f.endGroup, f.start.group));
	}
	return w.take();
}

/** Reads a filter that fills b. */
export function decodeFilter(b: Uint8Array): Filter {
	return complete("filter", () => {
		const r = new Reader(b);
		const f = read(r);
		r.finish("filter");
		return f;
	});
}

function read(r: Reader): Filter {
	const code = r.varint();
	const type = TYPES[Number(code) - 1];
	switch (type) {
		case "NextGroupStart":
		case "LargestObject":
			return { type };
		case "AbsoluteStart":
			return { type, start: readLocation(r) };
		case "AbsoluteRange": {
			const start = readLocation(r);
			const endGroup = add(start.group, r.varint());
			if (endGroup > MAX_UINT64) throw violation("end group of filter is above 2^64-1");
			return { type, start, endGroup };
		}
		default:
			throw violation(`unknown filter type 0x${code.toString(16)}`);
	}
}
