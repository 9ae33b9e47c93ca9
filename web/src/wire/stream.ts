import { isSubgroupType } from "./subgroup.ts";
import type { Uint } from "./uint.ts";

export const STREAM_SETUP = 0x2f00;
export const STREAM_FETCH = 0x05;
export const STREAM_PADDING = 0x132b3e28;

export type StreamKind = "control" | "subgroup" | "fetch" | "padding";

/** What a unidirectional stream of this type carries. [MOQT-18] Section 3.4, Unidirectional Stream Types */
export function streamKind(type: Uint): StreamKind | undefined {
	if (type === STREAM_SETUP) return "control";
	if (isSubgroupType(type)) return "subgroup";
	if (type === STREAM_FETCH) return "fetch";
	if (type === STREAM_PADDING) return "padding";
	return undefined;
}
