import type { Reader, Writer } from "./bytes.ts";
import { violation } from "./errors.ts";
import type { Uint } from "./uint.ts";

// Bits of the type. [MOQT-18] Section 11.4.2, Subgroup Header
const PROPERTIES = 0x01;
const MODE = 0x06;
const END_OF_GROUP = 0x08;
const ALWAYS = 0x10;
const DEFAULT_PRIORITY = 0x20;
const FIRST_OBJECT = 0x40;

/** Where the Subgroup ID is found: it is 0, that of the first object on the stream, or in the header. */
export type SubgroupIdMode = "zero" | "first object" | "explicit";
const MODES: readonly SubgroupIdMode[] = ["zero", "first object", "explicit"];

/** Begins a stream that carries objects of one subgroup. [MOQT-18] Section 11.4.2, Subgroup Header */
export interface SubgroupHeader {
	trackAlias: Uint;
	groupId: Uint;
	idMode: SubgroupIdMode;
	/** With idMode "explicit". */
	subgroupId?: Uint;
	/** Absent: that of the track. */
	priority?: number;
	/** Every object has a properties block, perhaps an empty one. */
	hasProperties: boolean;
	/** The last object before a FIN is the last of the group. */
	endOfGroup: boolean;
	/** The first object on the stream is the first of the subgroup. */
	firstObject: boolean;
}

export function isSubgroupType(x: Uint): boolean {
	return typeof x === "number" && x <= 0x7f && (x & ALWAYS) !== 0 && (x & MODE) !== MODE;
}

export function writeSubgroupHeader(w: Writer, h: SubgroupHeader): void {
	let type = ALWAYS | (MODES.indexOf(h.idMode) << 1);
	if (h.hasProperties) type |= PROPERTIES;
	if (h.endOfGroup) type |= END_OF_GROUP;
	if (h.priority === undefined) type |= DEFAULT_PRIORITY;
	if (h.firstObject) type |= FIRST_OBJECT;
	w.varint(type).varint(h.trackAlias).varint(h.groupId);
	if (h.idMode === "explicit") w.varint(h.subgroupId ?? 0);
	if (h.priority !== undefined) w.uint8(h.priority);
}

/** Reads the header, its stream type included. */
export function readSubgroupHeader(r: Reader): SubgroupHeader {
	const type = r.varint();
	if (!isSubgroupType(type)) throw violation(`stream type 0x${type.toString(16)} is not that of a subgroup`);
	const bits = type as number;
	const idMode = MODES[(bits & MODE) >> 1] as SubgroupIdMode;
	const h: SubgroupHeader = {
		trackAlias: r.varint(),
		groupId: r.varint(),
		idMode,
		hasProperties: (bits & PROPERTIES) !== 0,
		endOfGroup: (bits & END_OF_GROUP) !== 0,
		firstObject: (bits & FIRST_OBJECT) !== 0,
	};
	if (idMode === "explicit") h.subgroupId = r.varint();
	if ((bits & DEFAULT_PRIORITY) === 0) h.priority = r.uint8();
	return h;
}
