import { beforeEach, expect, test } from "vitest";
import { DoneCode, RequestCode, SessionCode } from "../wire/codes.ts";
import { encodeDatagram } from "../wire/datagram.ts";
import {
	encodeClientSetup,
	encodeSubscribe,
	encodeSubscribeNamespace,
	QuicReader,
	QuicWriter,
	readExtensions,
	readMessage16,
} from "../wire/draft16.ts";
import { Truncated } from "../wire/errors.ts";
import { RequestFailed, TrackDone } from "./errors.ts";
import { type MockTransport, mockPair } from "./mock.ts";
import { Session } from "./session.ts";
import { StreamReader } from "./stream.ts";
import type { IncomingSubgroup } from "./subscription.ts";

const unhex = (s: string) => Uint8Array.from(Buffer.from(s.replaceAll(" ", ""), "hex"));
const hex = (b: Uint8Array) => Buffer.from(b).toString("hex");
const text = (s: string) => Buffer.from(s).toString("hex");

// The examples of RFC 9000 Appendix A.1.
test.each([
	["25", 37],
	["4025", 37],
	["7bbd", 15293],
	["9d7f3e7d", 494878333],
	["c2197c5eff14e88c", 151288809941952652n],
])("QUIC integer %s", (bytes, value) => {
	const r = new QuicReader(unhex(bytes));
	expect(r.varint()).toBe(value);
	expect(r.left).toBe(0);
	const cut = new QuicReader(unhex(bytes).subarray(0, -1));
	expect(() => cut.varint()).toThrow(Truncated);
	expect(cut.at).toBe(0);
	if (bytes !== "4025") expect(hex(new QuicWriter().varint(value).take())).toBe(bytes);
});

// As another implementation has sent them.
const NAMES = `02 04${text("demo")} 0a${text("alice.hang")} 0c${text("catalog.json")}`;
test.each([
	[
		"SUBSCRIBE",
		encodeSubscribe(4, {
			type: "SUBSCRIBE",
			requestId: 9,
			track: { namespace: ["demo", "alice.hang"], name: "catalog.json" },
			params: { forward: true, subscriberPriority: 155, filter: { type: "LargestObject" }, groupOrder: "descending" },
		}),
		`03 002a 04 ${NAMES} 04 1001 10409b 010102 0102`,
	],
	[
		"SUBSCRIBE_NAMESPACE",
		encodeSubscribeNamespace(0, { type: "SUBSCRIBE_NAMESPACE", requestId: 9, prefix: ["demo"], params: {} }),
		`11 0009 00 01 04${text("demo")} 01 00`,
	],
	["CLIENT_SETUP", encodeClientSetup("me"), `20 0005 01 07 02${text("me")}`],
])("%s", (_, got, want) => {
	expect(hex(got)).toBe(want.replaceAll(" ", ""));
});

test("SERVER_SETUP, with an option that is not known", () => {
	expect(readMessage16(new QuicReader(unhex("21 0003 01 02 20")))).toEqual({ type: "SERVER_SETUP", maxRequestId: 32 });
	expect(readMessage16(new QuicReader(unhex(`21 0008 02 02 4040 05 02${text("xy")}`)))).toEqual({
		type: "SERVER_SETUP",
		maxRequestId: 64,
	});
});

test("extension headers inside immutable ones", () => {
	expect(readExtensions(unhex("06 8000c350 05 03 02 4040"))).toEqual([
		{ type: 6, uint: 50000 },
		{ type: 11, bytes: unhex("02 40") },
	]);
});

/** A relay that speaks draft-16, byte by byte. */
class Relay16 {
	readonly transport: MockTransport;
	readonly #streams: ReadableStreamDefaultReader<{ readable: ReadableStream; writable: WritableStream }>;
	out!: WritableStreamDefaultWriter;
	control!: StreamReader;

	constructor(t: MockTransport) {
		this.transport = t;
		this.#streams = t.incomingBidirectionalStreams.getReader();
	}

	async open(setup: string): Promise<void> {
		[this.control, this.out] = await this.stream();
		expect(hex(await this.control.bytes(2))).toBe("2000");
		await this.control.bytes((await this.control.bytes(1))[0] as number);
		await this.send(setup);
	}

	async stream(): Promise<[StreamReader, WritableStreamDefaultWriter]> {
		const { value } = await this.#streams.read();
		if (!value) throw new Error("no stream");
		return [new StreamReader(value.readable), value.writable.getWriter()];
	}

	send = (bytes: string, to = this.out) => to.write(unhex(bytes));

	/** Takes the next message of the control stream: type and body. */
	async message(from = this.control): Promise<{ type: number; body: string }> {
		const [type, , n] = await from.bytes(3);
		return { type: type as number, body: hex(await from.bytes(n as number)) };
	}
}

let session: Session;
let relay: Relay16;

async function begin(setup = "21 0003 01 02 20"): Promise<void> {
	const { client, server } = mockPair("moqt-16");
	relay = new Relay16(server);
	const opening = Session.open(client);
	await relay.open(setup);
	session = await opening;
}

beforeEach(() => begin());

const TRACK = { namespace: ["live"], name: "v" };

test("a track: objects on a stream and in a datagram, and its end", async () => {
	const got: string[] = [];
	const sub = session.subscribe(
		TRACK,
		{ filter: { type: "LargestObject" } },
		{
			subgroup: async (s: IncomingSubgroup) => {
				for (let o = await s.next(); o; o = await s.next()) {
					got.push(`${s.header.groupId}.${o.id} ${Buffer.from(o.payload)} ${hex(o.properties)}`);
				}
			},
			datagram: (d) => void got.push(`${d.groupId}.${d.objectId} ${Buffer.from(d.payload)} ${hex(d.properties)}`),
		},
	);
	expect(await relay.message()).toEqual({ type: 3, body: `000104${text("live")}01${text("v")}01210102` });
	// Alias 300, the largest object is 70.2, and the track has the timescale 90000.
	await relay.send("04 000e 00 412c 01 09 03 4046 02 08 80015f90");
	const ok = await sub.ok;
	expect(ok).toMatchObject({ trackAlias: 300, params: { largestObject: { group: 70, object: 2 } } });
	expect(ok.properties).toEqual([{ type: 8, uint: 90000 }]);

	const stream = (await relay.transport.createUnidirectionalStream()).getWriter();
	const bytes = unhex(`11 412c 4050 06 00 05 06 8000c350 02${text("ab")} 00 00 01${text("c")}`);
	for (const byte of bytes) await stream.write(Uint8Array.of(byte));
	await stream.close();
	await expect.poll(() => got.length).toBe(2);
	// 50000 is written in another way in the later version.
	expect(got).toEqual([`80.0 ab ${hex(unhex("06 c0c350"))}`, "80.1 c "]);

	const datagrams = relay.transport.datagrams.writable?.getWriter();
	await datagrams?.write(unhex(`01 412c 4051 00 05 05 06 8000c350 ${text("x")}`));
	await expect.poll(() => got.length).toBe(3);
	expect(got[2]).toBe(`81.0 x ${hex(unhex("06 c0c350"))}`);

	// TOO_FAR_BEHIND is 6 in draft-16.
	await relay.send(`0b 0007 00 06 01 03${text("bye")}`);
	const reason = await sub.done;
	expect(reason).toBeInstanceOf(TrackDone);
	expect((reason as TrackDone).code).toBe(DoneCode.TOO_FAR_BEHIND);
});

test("a request that is refused, and one that is left", async () => {
	const handler = { subgroup: () => undefined, datagram: () => undefined };
	const refused = session.subscribe(TRACK, {}, handler);
	expect((await relay.message()).body.slice(0, 2)).toBe("00");
	await relay.send(`05 0006 00 10 00 02${text("no")}`);
	await expect(refused.ok).rejects.toMatchObject({ code: RequestCode.DOES_NOT_EXIST });
	await expect(refused.ok).rejects.toThrow(RequestFailed);
	const left = session.subscribe(TRACK, {}, handler);
	expect((await relay.message()).body.slice(0, 2)).toBe("02");
	await relay.send("04 0003 02 07 00");
	await left.ok;
	left.close();
	expect(await relay.message()).toEqual({ type: 0x0a, body: "02" });
});

test("namespaces have a stream of their own", async () => {
	const heard: string[] = [];
	const sub = session.subscribeNamespace(["demo"], {
		added: (n) => heard.push(`+${n}`),
		removed: (n) => heard.push(`-${n}`),
	});
	const [reader, writer] = await relay.stream();
	expect((await relay.message(reader)).type).toBe(0x11);
	// The next request waits for this one's answer, so that ids come in order.
	session.subscribe(TRACK, {}, { subgroup: () => undefined, datagram: () => undefined });
	await relay.send("07 0002 00 00", writer);
	expect((await relay.message()).body.slice(0, 2)).toBe("02");
	await relay.send(`08 0003 01 01${text("a")}`, writer);
	await relay.send(`0e 0003 01 01${text("a")}`, writer);
	await expect.poll(() => heard).toEqual(["+a", "-a"]);
	sub.close();
	expect(await sub.done).toBeUndefined();
});

test("requests wait until the relay grants them", async () => {
	await begin("21 0001 00");
	session.subscribe(TRACK, {}, { subgroup: () => undefined, datagram: () => undefined });
	await relay.send("15 0001 01");
	expect((await relay.message()).type).toBe(3);
});

test.each([
	["a request of the relay", "06 0003 01 00 00"],
	["a second SERVER_SETUP", "21 0001 00"],
	["a limit that does not grow", "15 0001 20"],
	["a message with bytes behind it", "15 0003 4041 00"],
])("%s ends the session", async (_, bytes) => {
	await relay.send(bytes);
	expect((await session.closed).code).toBe(SessionCode.PROTOCOL_VIOLATION);
});

test("a stream type of the later version ends the session", async () => {
	const stream = (await relay.transport.createUnidirectionalStream()).getWriter();
	await stream.write(unhex("50 00 00")).catch(() => undefined);
	expect((await session.closed).code).toBe(SessionCode.PROTOCOL_VIOLATION);
});

test("datagrams of the later version are what they are there", () => {
	const d = { trackAlias: 1, groupId: 2, objectId: 0, endOfGroup: false, status: 0 };
	expect(hex(encodeDatagram({ ...d, properties: new Uint8Array(0), payload: unhex("ff") }))).toBe("0c0102ff");
});
