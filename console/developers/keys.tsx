export const KeysPage = () => <p>keys</p>
