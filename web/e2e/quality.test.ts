import { expect, test } from "vitest";
import { startLink, useBrowser, useRelay, watch } from "./harness.ts";

useBrowser();
const relay = useRelay({ clip: true });

test("a narrow link costs the better picture, and a wide one brings it back", async () => {
	// The clip needs 2.1 Mbit/s with both pictures, 0.6 without the better one.
	const link = "for=8s rate=20Mbit/s delay=10ms queue=150ms; for=9s rate=1Mbit/s; for=10m rate=20Mbit/s";
	const player = await watch(await startLink(relay.port, link), { latency: "150" });
	await player.waitPlaying("at first");
	const stats = async () => (await player.info()).stats;
	const showing = async () => (await stats())?.showing;
	await expect.poll(showing, { timeout: 20_000 }).toBe("video-720p");
	// While the link is narrow, late groups of the better picture are cancelled and the smaller one is shown.
	await expect.poll(showing, { timeout: 40_000, interval: 20 }).toBe("video-360p");
	const before = (await player.info()).stats;
	const gaps = await player.page.evaluate(async () => {
		// What is shown meanwhile goes on without standing still and without going back.
		const p = document.querySelector("moq-player");
		const times: [number, number][] = [];
		const tell = (f: { at: number; mediaTime: number }) => {
			times.push([f.at, f.mediaTime]);
			p?.requestVideoFrameCallback(tell);
		};
		p?.requestVideoFrameCallback(tell);
		await new Promise((resolve) => setTimeout(resolve, 4000));
		const steps = times.slice(1).map(([, t], i) => t - (times[i]?.[1] ?? 0));
		return { frames: times.length, back: steps.filter((s) => s <= 0).length };
	});
	expect(gaps.frames).toBeGreaterThan(30);
	expect(gaps.back).toBe(0);
	const better = () => stats().then((s) => s?.video.find((v) => v.name === "video-720p"));
	expect(
		before?.video.find((v) => v.name === "video-720p")?.cancelled ?? (await better())?.cancelled ?? 1,
	).toBeGreaterThan(0);
	await expect.poll(showing, { timeout: 90_000, interval: 100 }).toBe("video-720p");
	await player.waitPlaying("on the wide link");
});
