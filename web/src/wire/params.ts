import type { Reader, Writer } from "./bytes.ts";
import { InvalidValue, violation } from "./errors.ts";
import { decodeFilter, encodeFilter, type Filter } from "./filter.ts";
import { MAX_MESSAGE } from "./limits.ts";
import { type Location, readLocation, writeLocation } from "./location.ts";
import { type Namespace, readNamespace, writeNamespace } from "./namespace.ts";
import { decodeToken, encodeToken, type Token } from "./token.ts";
import { add, MAX_UINT64, type Uint } from "./uint.ts";

export type GroupOrder = "ascending" | "descending";

/**
 * The Message Parameters of a message. What is absent has its default, or in a REQUEST_UPDATE stays as it was. Times
 * are in milliseconds. [MOQT-18] Section 10.2, Message Parameters
 */
export interface Params {
	objectDeliveryTimeout?: Uint;
	/** In order; the only parameter that may repeat. */
	authTokens?: Token[];
	rendezvousTimeout?: Uint;
	subgroupDeliveryTimeout?: Uint;
	expires?: Uint;
	largestObject?: Location;
	fillTimeout?: Uint;
	/** Default true. */
	forward?: boolean;
	/** Lower is more urgent; default 128. */
	subscriberPriority?: number;
	/** Default: all objects. */
	filter?: Filter;
	groupOrder?: GroupOrder;
	/** The largest group known + 1, or 0. */
	newGroupRequest?: Uint;
	trackNamespacePrefix?: Namespace;
}

export type ParamName = keyof Params;

interface Coding<T> {
	type: number;
	write(w: Writer, x: T): void;
	read(r: Reader): T;
}

const varint = (type: number): Coding<Uint> => ({ type, write: (w, x) => void w.varint(x), read: (r) => r.varint() });

const GROUP_ORDERS: readonly GroupOrder[] = ["ascending", "descending"];

/** The parameters in ascending order of type. [MOQT-18] Section 15.7, Message Parameters */
const CODINGS: { [K in ParamName]-?: Coding<NonNullable<Params[K]>> } = {
	objectDeliveryTimeout: varint(0x02),
	authTokens: {
		type: 0x03,
		write: () => undefined, // see writeParams
		read: (r) => [decodeToken(r.bytes(MAX_MESSAGE, "authorization token"))],
	},
	// The draft does not say how this one and FILL_TIMEOUT are encoded; other times are varints.
	rendezvousTimeout: varint(0x04),
	subgroupDeliveryTimeout: varint(0x06),
	expires: varint(0x08),
	largestObject: { type: 0x09, write: writeLocation, read: readLocation },
	fillTimeout: varint(0x0a),
	forward: {
		type: 0x10,
		write: (w, x) => void w.uint8(x ? 1 : 0),
		read: (r) => {
			const x = r.uint8();
			// [MOQT-18] Section 10.2.12, FORWARD Parameter
			if (x > 1) throw violation("FORWARD is neither 0 nor 1");
			return x === 1;
		},
	},
	subscriberPriority: { type: 0x20, write: (w, x) => void w.uint8(x), read: (r) => r.uint8() },
	filter: {
		type: 0x21,
		write: (w, x) => void w.bytes(encodeFilter(x)),
		read: (r) => decodeFilter(r.bytes(MAX_MESSAGE, "filter")),
	},
	groupOrder: {
		type: 0x22,
		write: (w, x) => void w.uint8(GROUP_ORDERS.indexOf(x) + 1),
		read: (r) => {
			const order = GROUP_ORDERS[r.uint8() - 1];
			// [MOQT-18] Section 10.2.8, GROUP ORDER Parameter
			if (!order) throw violation("GROUP_ORDER is neither 1 nor 2");
			return order;
		},
	},
	newGroupRequest: varint(0x32),
	trackNamespacePrefix: { type: 0x34, write: (w, x) => void writeNamespace(w, x), read: readNamespace },
};

const ORDER = Object.keys(CODINGS) as ParamName[];
const BY_TYPE = new Map<Uint, ParamName>(ORDER.map((name) => [CODINGS[name].type, name]));

/** Fails if a parameter is present that the message must not hold. [MOQT-18] Section 10.2.1, Parameter Scope */
export function checkReceived(p: Params, allowed: readonly ParamName[]): void {
	for (const name of Object.keys(p) as ParamName[]) {
		if (!allowed.includes(name)) throw violation(`${name} is not allowed in this message`);
	}
}

/** Writes Number of Parameters and the parameters, all of which must be in allowed. */
export function writeParams(w: Writer, p: Params, allowed: readonly ParamName[]): void {
	const present = ORDER.filter((name) => p[name] !== undefined);
	for (const name of present) {
		if (!allowed.includes(name)) throw new InvalidValue(`${name} is not allowed in this message`);
	}
	w.varint(present.length + Math.max(0, (p.authTokens?.length ?? 0) - (p.authTokens ? 1 : 0)));
	let prev = 0;
	for (const name of present) {
		const coding = CODINGS[name] as Coding<unknown>;
		if (name !== "authTokens") {
			w.varint(coding.type - prev);
			coding.write(w, p[name]);
			prev = coding.type;
			continue;
		}
		for (const token of p.authTokens ?? []) {
			w.varint(coding.type - prev).bytes(encodeToken(token));
			prev = coding.type;
		}
	}
}

/** Reads Number of Parameters and the parameters, all of which must be in allowed. */
export function readParams(r: Reader, allowed: readonly ParamName[]): Params {
	const count = r.varint();
	const p: Params = {};
	let type: Uint = 0;
	for (let i = 0; i < count; i++) {
		type = add(type, r.varint());
		if (type > MAX_UINT64) throw violation("type of parameter is above 2^64-1");
		const name = BY_TYPE.get(type);
		// "An endpoint that receives an unknown Message Parameter MUST close the session with PROTOCOL_VIOLATION."
		// [MOQT-18] Section 10.2, Message Parameters
		if (!name) throw violation(`unknown parameter 0x${type.toString(16)}`);
		const value = CODINGS[name].read(r);
		if (name === "authTokens") {
			p.authTokens = (p.authTokens ?? []).concat(value as Token[]);
			continue;
		}
		if (p[name] !== undefined) throw violation(`${name} is repeated`);
		Object.assign(p, { [name]: value });
	}
	checkReceived(p, allowed);
	return p;
}
