import { expect, test } from "vitest";
import { startClip, startLink, transcode, useBrowser, useRelay, watch } from "./harness.ts";

useBrowser();
const relay = useRelay();

test("a narrow link costs the better picture, and a wide one brings it back", async () => {
	// Small pictures, so that it is the link that counts and not how busy the machine is.
	const file = transcode(
		...[
			"-map",
			"0:v:1",
			"-map",
			"0:v:1",
			"-map",
			"0:a",
			"-r",
			"15",
			"-g",
			"15",
			"-c:v",
			"libx264",
			"-preset",
			"ultrafast",
		],
		...[
			"-tune",
			"zerolatency",
			"-s:v:0",
			"320x180",
			"-b:v:0",
			"150k",
			"-s:v:1",
			"480x270",
			"-b:v:1",
			"900k",
			"-c:a",
			"copy",
		],
	);
	await startClip(relay.port, "--input", file);
	// Both pictures need 1.2 Mbit/s, the smaller one alone 0.3. The link is narrow once: each time the better picture
	// fails it is tried again after twice as long, so that on one that changes all the time its return is luck.
	const link = "for=20s rate=20Mbit/s delay=10ms queue=150ms; for=20s rate=500kbit/s; rate=20Mbit/s";
	const { port } = await startLink(relay.port, link);
	const player = await watch(port, { latency: "150" });
	await player.waitPlaying("at first");
	const height = async () => {
		const { stats } = await player.info();
		return stats?.showing;
	};
	const names = await player.page.evaluate(() => document.querySelector("moq-player")?.tracks.map((t) => t.name));
	const [better, small] = names ?? [];
	expect(names).toHaveLength(2);
	const wait = (name: string | undefined, what: string) =>
		expect.poll(height, { timeout: 90_000, interval: 50, message: what }).toBe(name);
	await wait(better, "the better picture at first");
	await wait(small, "the smaller one on the narrow link");
	// What is shown meanwhile goes on, and not back.
	const steps = await player.page.evaluate(async () => {
		const p = document.querySelector("moq-player");
		const times: number[] = [];
		await new Promise<void>((resolve) => {
			const tell = (f: { mediaTime: number }) => {
				times.push(f.mediaTime);
				if (times.length > 30) resolve();
				else p?.requestVideoFrameCallback(tell);
			};
			p?.requestVideoFrameCallback(tell);
		});
		return times.slice(1).map((t, i) => t - (times[i] ?? 0));
	});
	expect(steps).toHaveLength(30);
	expect(steps.filter((s) => s <= 0)).toEqual([]);
	const { stats } = await player.info();
	const lost = stats?.video.find((v) => v.name === better);
	if (lost) expect(lost.cancelled).toBeGreaterThan(0);
	await wait(better, "the better picture on the wide link");
	await player.waitPlaying("on the wide link");
}, 300_000);
