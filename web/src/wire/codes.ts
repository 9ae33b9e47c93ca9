// The error codes of the draft. Codes that are not known count as INTERNAL_ERROR and never close a session.

/** A code as it stands on the wire. */
export type Code = number | bigint;

/** [MOQT-18] Section 15.10.1, Session Termination Error Codes */
export const SessionCode = {
	NO_ERROR: 0x0,
	INTERNAL_ERROR: 0x1,
	UNAUTHORIZED: 0x2,
	PROTOCOL_VIOLATION: 0x3,
	INVALID_REQUEST_ID: 0x4,
	DUPLICATE_TRACK_ALIAS: 0x5,
	KEY_VALUE_FORMATTING_ERROR: 0x6,
	INVALID_PATH: 0x8,
	MALFORMED_PATH: 0x9,
	GOAWAY_TIMEOUT: 0x10,
	CONTROL_MESSAGE_TIMEOUT: 0x11,
	DATA_STREAM_TIMEOUT: 0x12,
	AUTH_TOKEN_CACHE_OVERFLOW: 0x13,
	DUPLICATE_AUTH_TOKEN_ALIAS: 0x14,
	VERSION_NEGOTIATION_FAILED: 0x15,
	MALFORMED_AUTH_TOKEN: 0x16,
	UNKNOWN_AUTH_TOKEN_ALIAS: 0x17,
	EXPIRED_AUTH_TOKEN: 0x18,
	INVALID_AUTHORITY: 0x19,
	MALFORMED_AUTHORITY: 0x1a,
} as const;

/** [MOQT-18] Section 15.10.2, REQUEST_ERROR Codes */
export const RequestCode = {
	INTERNAL_ERROR: 0x0,
	UNAUTHORIZED: 0x1,
	TIMEOUT: 0x2,
	NOT_SUPPORTED: 0x3,
	MALFORMED_AUTH_TOKEN: 0x4,
	EXPIRED_AUTH_TOKEN: 0x5,
	GOING_AWAY: 0x6,
	EXCESSIVE_LOAD: 0x9,
	DOES_NOT_EXIST: 0x10,
	INVALID_RANGE: 0x11,
	MALFORMED_TRACK: 0x12,
	DUPLICATE_SUBSCRIPTION: 0x19,
	UNINTERESTED: 0x20,
	PREFIX_OVERLAP: 0x30,
	NAMESPACE_TOO_LARGE: 0x31,
	INVALID_JOINING_REQUEST_ID: 0x32,
	UNSUPPORTED_EXTENSION: 0x33,
	REDIRECT: 0x34,
} as const;

/** [MOQT-18] Section 15.10.3, PUBLISH_DONE Codes */
export const DoneCode = {
	INTERNAL_ERROR: 0x0,
	UNAUTHORIZED: 0x1,
	TRACK_ENDED: 0x2,
	SUBSCRIPTION_ENDED: 0x3,
	GOING_AWAY: 0x4,
	TOO_FAR_BEHIND: 0x5,
	EXPIRED: 0x6,
	UPDATE_FAILED: 0x8,
	EXCESSIVE_LOAD: 0x9,
	MALFORMED_TRACK: 0x12,
} as const;

/** [MOQT-18] Section 15.10.4, Stream Reset Error Codes */
export const StreamCode = {
	INTERNAL_ERROR: 0x0,
	CANCELLED: 0x1,
	DELIVERY_TIMEOUT: 0x2,
	SESSION_CLOSED: 0x3,
	GOING_AWAY: 0x4,
	TOO_FAR_BEHIND: 0x5,
	UNKNOWN_OBJECT_STATUS: 0x6,
	EXPIRED_AUTH_TOKEN: 0x7,
	EXCESSIVE_LOAD: 0x9,
	MALFORMED_TRACK: 0x12,
} as const;

/** Returns the draft's name of a code, or the code in hex. */
export function codeName(table: Record<string, number>, code: Code): string {
	for (const [name, value] of Object.entries(table)) if (value === code) return name;
	return `0x${code.toString(16)}`;
}
