import type { Reader, Writer } from "./bytes.ts";
import type { Uint } from "./uint.ts";

/** The place of an object in a track. [MOQT-18] Section 1.4.2, Location Structure */
export interface Location {
	group: Uint;
	object: Uint;
}

export function readLocation(r: Reader): Location {
	return { group: r.varint(), object: r.varint() };
}

export function writeLocation(w: Writer, l: Location): void {
	w.varint(l.group).varint(l.object);
}

export function before(a: Location, b: Location): boolean {
	return a.group < b.group || (a.group === b.group && a.object < b.object);
}
