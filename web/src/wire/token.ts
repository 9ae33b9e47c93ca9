import { Reader, Writer } from "./bytes.ts";
import { kvpError, Truncated } from "./errors.ts";
import type { Uint } from "./uint.ts";

/** An authorization token or a reference to one. [MOQT-18] Section 10.2.2, AUTHORIZATION TOKEN Parameter */
export type Token =
	| { aliasType: "DELETE" | "USE_ALIAS"; alias: Uint }
	| { aliasType: "REGISTER"; alias: Uint; type: Uint; value: Uint8Array }
	| { aliasType: "USE_VALUE"; type: Uint; value: Uint8Array };

const ALIAS_TYPES: readonly Token["aliasType"][] = ["DELETE", "REGISTER", "USE_ALIAS", "USE_VALUE"];

export function encodeToken(t: Token): Uint8Array {
	const w = new Writer().varint(ALIAS_TYPES.indexOf(t.aliasType));
	if (t.aliasType !== "USE_VALUE") w.varint(t.alias);
	if (t.aliasType === "REGISTER" || t.aliasType === "USE_VALUE") w.varint(t.type).raw(t.value);
	return w.take();
}

/** Reads a token that fills b. What cannot be decoded is a KEY_VALUE_FORMATTING_ERROR. */
export function decodeToken(b: Uint8Array): Token {
	const r = new Reader(b);
	try {
		const aliasType = ALIAS_TYPES[Number(r.varint())];
		switch (aliasType) {
			case "DELETE":
			case "USE_ALIAS": {
				const alias = r.varint();
				if (r.left > 0) throw kvpError("authorization token continues after its alias");
				return { aliasType, alias };
			}
			case "REGISTER":
				return { aliasType, alias: r.varint(), type: r.varint(), value: r.rest().slice() };
			case "USE_VALUE":
				return { aliasType, type: r.varint(), value: r.rest().slice() };
			default:
				throw kvpError("authorization token with unknown alias type");
		}
	} catch (err) {
		if (err instanceof Truncated) throw kvpError("authorization token is cut short");
		throw err;
	}
}
