import { expect, test } from "vitest";
import { freePort, type Player, relayUrl, useBrowser, useRelay, watch } from "./harness.ts";

useBrowser();
const relay = useRelay({ clip: true });

/** What is wrong is seen on the screen and read out. */
async function expectWords(player: Player, title: string, detail: string | RegExp): Promise<void> {
	await player.page.getByRole("heading", { name: title }).waitFor();
	await player.page.locator(".notice p").getByText(detail).waitFor();
	expect(await player.page.locator("moq-player [role=status]").textContent()).toContain(title);
}

test("no relay", async () => {
	const player = await watch(relay.port, { url: relayUrl(await freePort()) });
	const p = await player.waitState("connecting", "unreachable");
	expect(p?.retrying).toBe(true);
	await expectWords(player, "The relay cannot be reached", /Nothing answers at 127.0.0.1/);
});

test("another certificate", async () => {
	const player = await watch(relay.port, { fingerprint: "00".repeat(32) });
	await player.waitState("connecting", "certificate");
	await expectWords(player, "The relay's certificate is not the expected one", /another fingerprint/);
});

test("a fingerprint that is none", async () => {
	const player = await watch(relay.port, { fingerprint: "abc" });
	await player.waitState("connecting", "certificate");
	await expectWords(player, "The relay's certificate is not the expected one", /64 hexadecimal digits/);
});

test("not a URL", async () => {
	const player = await watch(relay.port, { url: "moqt://127.0.0.1/" });
	await player.waitState("failed", "bad-url");
	await expectWords(player, "The address of the relay is not right", /https/);
});

test("no such namespace", async () => {
	const player = await watch(relay.port, { namespace: "live/nobody" });
	await player.waitState("waiting", "no-broadcast");
	await expectWords(player, "Nothing is being broadcast here yet", /by itself/);
});

test("no WebTransport", async () => {
	const before = () => {
		Reflect.deleteProperty(globalThis, "WebTransport");
	};
	const player = await watch(relay.port, {}, { before });
	const p = await player.waitState("failed", "no-webtransport");
	expect(p?.retrying).toBe(false);
	await expectWords(player, "This browser cannot play live streams over WebTransport", /Chrome/);
});

test("no WebCodecs", async () => {
	const before = () => {
		Reflect.deleteProperty(globalThis, "VideoDecoder");
	};
	const player = await watch(relay.port, {}, { before });
	await player.waitState("failed", "no-webcodecs");
	await expectWords(player, "This browser cannot decode video by itself", /WebCodecs/);
});

// What the worker asks the browser for is answered there; so its script gets another answer put in front.
const refuse = (...decoders: string[]) =>
	`for (const d of [${decoders}]) d.isConfigSupported = async () => ({ supported: false });`;

test("codecs that cannot be decoded", async () => {
	const player = await watch(relay.port, {}, { worker: refuse("VideoDecoder", "AudioDecoder") });
	const p = await player.waitState("failed", "codec");
	expect(p?.retrying).toBe(false);
	await expectWords(player, "This browser cannot decode the broadcast", /avc1/);
});

test("a picture that cannot be decoded, and sound that can", async () => {
	const player = await watch(relay.port, {}, { worker: refuse("VideoDecoder") });
	await player.waitState("playing", "codec");
	await expectWords(player, "This browser cannot decode the picture", /avc1/);
	expect((await player.look(3000)).loudest).toBeGreaterThan(0.005);
});

test("a picture that the decoder gives up on", async () => {
	// It is said to be supported, and fails with the first frame.
	const broken = "VideoDecoder.prototype.decode = function () { throw new DOMException('broken', 'EncodingError'); };";
	const player = await watch(relay.port, {}, { worker: broken });
	await player.waitState("failed", "codec");
	await expectWords(player, "This browser cannot decode the broadcast", /broken/);
});
