export const SessionsPage = () => <p>sessions</p>
