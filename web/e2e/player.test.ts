import { expect, test } from "vitest";
import { figure, type Player, startClip, transcode, useBrowser, useRelay, watch } from "./harness.ts";

useBrowser();
const relay = useRelay({ clip: true });

/** Of the sound of the clip: a bed at 220 Hz, beeps at 880 and 1320. */
const CLIP_HZ = [220, 880, 1320];

test("the clip is seen and heard", async () => {
	const player = await watch(relay.port, { statistics: "" }, { dark: true, height: 1200 });
	await player.waitPlaying("the clip");
	await player.waitPitch(...CLIP_HZ);
	await expect.poll(async () => (await player.info()).stats, { timeout: 30_000 }).toBeDefined();
	const { stats } = await player.info();
	// Whether the better picture is received just now depends on how busy the machine is.
	expect(stats?.video[0]?.name).toBe("video-360p");
	const choices = () => player.page.evaluate(() => document.querySelector("moq-player")?.tracks.map((t) => t.name));
	expect(await choices()).toEqual(["video-720p", "video-360p"]);
	expect(stats?.audio).toMatchObject({ name: "audio", datagrams: true });
	figure("first picture after loading the player, ms", [stats?.firstPicture ?? Number.NaN]);
});

test.each([
	["LOC", "live/loc", ["--packaging", "loc"], true],
	["the hang catalog, with sound on streams", "live/clip.hang", [], false],
])("%s", async (what, namespace, args, datagrams) => {
	await startClip(relay.port, ...args, "--namespace", namespace);
	const player = await watch(relay.port, { namespace });
	await player.waitPlaying(what);
	await player.waitPitch(...CLIP_HZ);
	await expect.poll(async () => (await player.info()).stats?.audio?.datagrams, { timeout: 20_000 }).toBe(datagrams);
});

test.each(["cmaf", "loc"])("AAC, in packaging %s", async (packaging) => {
	const file = transcode("-map", "0:v:1", "-map", "0:a", "-c:v", "copy", "-c:a", "aac");
	const namespace = `live/aac-${packaging}`;
	await startClip(relay.port, "--input", file, "--packaging", packaging, "--namespace", namespace);
	const player = await watch(relay.port, { namespace });
	await player.waitPlaying("AAC");
	await player.waitPitch(...CLIP_HZ);
});

test("sound alone", async () => {
	const file = transcode("-map", "0:a", "-c", "copy");
	await startClip(relay.port, "--input", file, "--namespace", "live/radio");
	const player = await watch(relay.port, { namespace: "live/radio" });
	await player.waitState("playing");
	await player.waitPitch(...CLIP_HZ);
});

test("the quality is what was chosen, and what the page asks for", async () => {
	const player = await watch(relay.port, { quality: "video-360p" });
	await player.waitPlaying("360p");
	expect(await width(player)).toBe(640);
	const received = async () => (await player.info()).stats?.video.map((v) => v.name);
	await expect.poll(received, { timeout: 30_000 }).toEqual(["video-360p"]);
	await player.page.evaluate(() => document.querySelector("moq-player")?.setAttribute("quality", "video-720p"));
	await expect.poll(() => width(player), { timeout: 30_000 }).toBe(1280);
	await expect.poll(async () => (await player.info()).stats?.showing, { timeout: 30_000 }).toBe("video-720p");
});

const width = (player: Player) =>
	player.page.evaluate(() => document.querySelector("moq-player")?.shadowRoot?.querySelector("canvas")?.width);

test("draft-16, for a relay that speaks nothing newer", async () => {
	const only16 = `const Original = WebTransport;
		globalThis.WebTransport = class extends Original {
			constructor(url, options) { super(url, { ...options, protocols: ["moqt-16"] }); }
		};`;
	const player = await watch(relay.port, {}, { worker: only16 });
	await player.waitPlaying("the clip");
	await player.waitPitch(...CLIP_HZ);
	await expect.poll(async () => (await player.info()).stats?.protocol, { timeout: 30_000 }).toBe("moqt-16");
	expect((await player.info()).stats?.audio?.datagrams).toBe(true);
});

test("it can be paused, and goes on", async () => {
	const player = await watch(relay.port);
	await player.waitPlaying("at first");
	await player.page.focus("moq-player");
	await player.page.keyboard.press("k");
	await player.waitState("paused");
	expect((await player.look(500)).changes).toBeLessThanOrEqual(1);
	await player.page.keyboard.press("k");
	await player.waitPlaying("after the pause");
});
