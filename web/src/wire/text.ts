// Names on the wire are bytes, and nearly always UTF-8. They are kept as strings; bytes that are not UTF-8 turn each
// byte above 0x7f into a lone surrogate, so that encoding gives back the same bytes.

const strict = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
const encoder = new TextEncoder();
const ESCAPED = /[\udc80-\udcff]/;

/** Returns a string that encodeName turns into the same bytes. */
export function decodeName(b: Uint8Array): string {
	try {
		return strict.decode(b);
	} catch {
		let s = "";
		for (const x of b) s += String.fromCharCode(x < 0x80 ? x : 0xdc00 + x);
		return s;
	}
}

/** Returns the bytes of a name. */
export function encodeName(s: string): Uint8Array {
	if (!ESCAPED.test(s) || s.isWellFormed()) return encoder.encode(s);
	return Uint8Array.from(s, (c) => c.charCodeAt(0) & 0xff);
}
