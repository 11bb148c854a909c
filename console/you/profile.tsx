export const ProfilePage = () => <p>profile</p>
