import { SessionClosed } from "../moqt/errors.ts";
import { Session, type SessionConfig } from "../moqt/session.ts";
import { PROTOCOLS, type Transport } from "../moqt/transport.ts";
import { PlayerError } from "./problem.ts";

/** How long the connection may take, in milliseconds. */
const CONNECT_TIMEOUT = 8000;

export interface Address {
	url: string;
	/** SHA-256 of the relay's certificate in hexadecimal. */
	fingerprint: string | undefined;
}

/**
 * Connects to a relay. With an http: URL the relay is asked for its certificate's hash first, on TCP of the same port;
 * that is for development, and only as safe as that answer.
 */
export async function dial(a: Address, config: SessionConfig, signal: AbortSignal): Promise<Session> {
	checkBrowser();
	const url = parse(a.url);
	let hash = a.fingerprint ? parseFingerprint(a.fingerprint) : undefined;
	if (url.protocol === "http:") {
		hash ??= await fetchFingerprint(url, signal);
		url.protocol = "https:";
	}
	signal.throwIfAborted();
	const options: WebTransportOptions & { protocols: string[] } = {
		congestionControl: "low-latency",
		protocols: config.protocols ?? PROTOCOLS,
	};
	if (hash) options.serverCertificateHashes = [{ algorithm: "sha-256", value: hash }];
	let transport: WebTransport; // its type lacks what is newer
	try {
		transport = new WebTransport(url.href, options);
	} catch (err) {
		throw new PlayerError("bad-url", `${url.href}: ${err instanceof Error ? err.message : err}`);
	}
	const give = () => transport.close();
	const timer = setTimeout(give, CONNECT_TIMEOUT);
	signal.addEventListener("abort", give, { once: true });
	try {
		await transport.ready;
		return await Session.open(transport as unknown as Transport, config);
	} catch (err) {
		signal.throwIfAborted();
		if (err instanceof SessionClosed) throw err;
		throw unreachable(url, a, hash !== undefined);
	} finally {
		clearTimeout(timer);
		signal.removeEventListener("abort", give);
	}
}

/** Says what the browser lacks. */
export function checkBrowser(): void {
	if (typeof WebTransport === "undefined") {
		if (!globalThis.isSecureContext) {
			throw new PlayerError("insecure-page", "Open it over https, or on localhost while developing.");
		}
		throw new PlayerError("no-webtransport", "Chrome and Edge 97, Firefox 114, Safari 26 and later can.");
	}
	if (typeof VideoDecoder === "undefined") {
		throw new PlayerError(
			"no-webcodecs",
			"WebCodecs is needed: Chrome and Edge 94, Firefox 130, Safari 16.4 and later.",
		);
	}
}

function parse(s: string): URL {
	let url: URL;
	try {
		url = new URL(s);
	} catch {
		throw new PlayerError("bad-url", `${JSON.stringify(s)} is not a URL; it should be like https://relay.example/`);
	}
	if (url.protocol !== "https:" && url.protocol !== "http:") {
		throw new PlayerError("bad-url", `${s} has to begin with https:// or, while developing, http://`);
	}
	url.hash = "";
	return url;
}

export function parseFingerprint(s: string): Uint8Array<ArrayBuffer> {
	const digits = s.trim().replaceAll(":", "");
	if (!/^[0-9a-f]{64}$/i.test(digits)) {
		throw new PlayerError("certificate", "A fingerprint is the SHA-256 of the certificate: 64 hexadecimal digits.");
	}
	return Uint8Array.from(digits.match(/../g) ?? [], (x) => Number.parseInt(x, 16));
}

async function fetchFingerprint(relay: URL, signal: AbortSignal): Promise<Uint8Array<ArrayBuffer>> {
	const url = new URL("/certificate.sha256", relay);
	let text: string;
	try {
		const response = await fetch(url, {
			signal: AbortSignal.any([signal, AbortSignal.timeout(CONNECT_TIMEOUT)]),
			cache: "no-store",
		});
		if (!response.ok) throw new Error(`status ${response.status}`);
		text = await response.text();
	} catch {
		signal.throwIfAborted();
		throw new PlayerError("unreachable", `Nothing answers at ${relay.host}. Is the relay running?`);
	}
	return parseFingerprint(text);
}

/** A browser does not tell why a handshake has failed; so this names what can be the case. */
function unreachable(url: URL, a: Address, pinned: boolean): PlayerError {
	if (a.fingerprint) {
		return new PlayerError(
			"certificate",
			`${url.host} did not complete the handshake: its certificate has another fingerprint than the one given, or UDP is blocked.`,
		);
	}
	if (pinned) {
		return new PlayerError(
			"unreachable",
			`${url.host} answers over TCP but not over QUIC. Is UDP on that port blocked?`,
		);
	}
	return new PlayerError(
		"unreachable",
		`No QUIC connection to ${url.host}: it is not running, UDP is blocked, or its certificate is not trusted by this browser.`,
	);
}
