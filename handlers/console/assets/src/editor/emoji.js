// The emoji that the toolbar offers, eight in a row: faces, hands, hearts, celebrations, nature, food, things, signs.
const rows = [
  "😀 😊 😉 😍 😎 🤔 😅 😂",
  "👋 👍 👏 🙌 🙏 💪 👀 🤝",
  "❤️ 🧡 💛 💚 💙 💜 💔 💌",
  "🎉 🎁 🎂 🏆 ⭐ ✨ 🔥 🚀",
  "🌷 🌻 🌿 🍂 🌲 ☀️ 🌈 ❄️",
  "☕ 🍎 🍓 🍕 🍷 🍰 🐶 🐱",
  "📅 📍 📣 📷 🎵 📚 💡 🛒",
  "✅ ❌ ❗ ❓ ➡️ ⬇️ 🔗 💬",
];

export const across = 8;

export const emoji = rows.flatMap((row) => row.split(" "));
